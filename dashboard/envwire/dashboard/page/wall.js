// A wall of tiles: the environments that can be watched, two pictures a second at most.

import { follow, get } from "./api.js"
import { count, el, replace } from "./dom.js"
import { place } from "./sessions.js"

const TILES = 24

export function wallView(view) {
  const wall = el("div", { class: "wall", "data-list": true })
  const tiles = new Map()
  const visible = new Set()
  const seen = new IntersectionObserver(look)
  let stream = null
  replace(view, wall)

  async function load() {
    const { rows } = await get("sessions", { sort: "rate", limit: 200 })
    const shown = rows.filter((row) => row.frames).slice(0, TILES)
    const keys = shown.map(key)
    if (keys.some((each) => !tiles.has(each)) || [...tiles.keys()].some((each) => !keys.includes(each))) build(shown)
    for (const row of shown) {
      tiles.get(key(row)).rate.textContent = `${count(row.rate)} steps/s`
    }
  }

  function build(rows) {
    tiles.clear()
    for (const row of rows.sort((a, b) => key(a).localeCompare(key(b)))) tiles.set(key(row), tile(row))
    const none = el("p", { class: "soft" }, "No session can be watched: that takes a server with --frames, and "
      + "environments made with render_mode=\"rgb_array\".")
    replace(wall, tiles.size ? [...tiles.values()].map((each) => each.element) : none)
    seen.disconnect()
    visible.clear()
    for (const each of tiles.values()) seen.observe(each.element)
  }

  // Only what is on the screen is rendered by its server.
  function look(changes) {
    for (const { target, isIntersecting } of changes) {
      visible[isIntersecting ? "add" : "delete"](target.dataset.key)
    }
    stream?.abort()
    stream = new AbortController()
    const asked = new URLSearchParams([...visible].map((each) => ["tile", each]))
    if (visible.size) follow(`wall?${asked}`, show, stream.signal).catch(() => {})
  }

  function show(told) {
    const found = tiles.get(key(told))
    if (!found) return
    if (!told.png) replace(found.picture, told.text)
    else if (found.picture.firstChild?.tagName === "IMG") found.picture.firstChild.src = told.png
    else replace(found.picture, el("img", { src: told.png, alt: `Session ${told.id}` }))
  }

  const reload = () => load().catch((error) => replace(wall, error.message))
  reload()
  const timer = setInterval(reload, 2000)
  return { stop: () => { clearInterval(timer); seen.disconnect(); stream?.abort() } }
}

const key = (row) => `${row.server}/${row.id}`

function tile(row) {
  const picture = el("div", { class: "picture" }, "waiting for a picture")
  const rate = el("span", { class: "soft" })
  const element = el("a", { class: "tile", href: place(row), "data-key": key(row) }, picture,
    el("div", { class: "caption" }, el("span", {}, row.env), rate))
  return { element, picture, rate }
}
