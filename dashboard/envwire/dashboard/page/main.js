// Routes, keys, and the stream that tells of the farm on every view.

import { follow, takeKey } from "./api.js"
import { count, counted } from "./dom.js"
import { farmView, note } from "./farm.js"
import { sessionView } from "./session.js"
import { sessionsView } from "./sessions.js"
import { wallView } from "./wall.js"

const VIEWS = { "/farm": farmView, "/sessions": sessionsView, "/session": sessionView, "/wall": wallView }
const KEYS = { 1: "/farm", 2: "/sessions", 3: "/wall" }
const view = document.getElementById("view")
const notice = document.getElementById("notice")
let shown = {}
let farm = null

function open() {
  shown.stop?.()
  const [path, query] = location.hash.slice(1).split("?")
  shown = (VIEWS[path] ?? farmView)(view, new URLSearchParams(query))
  for (const link of document.querySelectorAll("nav a")) {
    link.toggleAttribute("aria-current", link.hash === `#${path}`)
  }
  if (farm) shown.farm?.(farm)
}

function takeFarm(told) {
  farm = told
  notice.hidden = true
  note(told)
  const active = told.servers.reduce((sum, each) => sum + each.active, 0)
  document.getElementById("totals").textContent =
    `${counted(told.servers.length, "server")} · ${counted(active, "session")} · ${count(told.rate)} steps/s`
  shown.farm?.(told)
}

async function watch() {
  for (;;) {
    try {
      await follow("farm", takeFarm)
    } catch (error) {
      notice.textContent = `No news: ${error.message}`
      notice.hidden = false
    }
    await new Promise((later) => setTimeout(later, 2000))
  }
}

function move(by) {
  const items = [...view.querySelectorAll("[data-list] > [data-key]")]
  if (!items.length) return false
  const at = items.indexOf(document.activeElement)
  items[Math.min(items.length - 1, Math.max(0, at + by))].focus()
  return true
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName)
  if (event.key === "Escape") typing ? event.target.blur() : history.back()
  else if (typing && event.key !== "ArrowDown" || event.target.tagName === "SELECT") return
  else if (KEYS[event.key]) location.hash = KEYS[event.key]
  else if (event.key === "/" && shown.filter) shown.filter()
  else if (event.key === "Enter" && event.target.dataset.href) location.hash = event.target.dataset.href
  else if (event.key === "ArrowDown" && move(1) || event.key === "ArrowUp" && move(-1)) { /* moved */ }
  else if ("pn".includes(event.key)) view.querySelector(`[data-page="${event.key}"]`)?.click()
  else return
  event.preventDefault()
}

takeKey()
addEventListener("hashchange", open)
addEventListener("keydown", press)
open()
watch()
