// The table of sessions: filtered, sorted and cut by the server, so that ten thousand are no more work than fifty.

import { get, post } from "./api.js"
import { copyButton, count, duration, el, fillShares, processors, replace, shareBar, size } from "./dom.js"

const ROWS = 50
const COLUMNS = [
  ["env", "environment"], ["id", "session"], ["client", "client"], ["server", "server"], ["state", "state"],
  ["age", "age", true], ["steps", "steps", true], ["rate", "steps/s", true],
  ["processor", "processors", true], ["memory", "memory", true], ["environment", "where its time goes"],
]
const STATES = { "": "all that live", busy: "busy", idle: "idle", making: "being made", ended: "ended" }

export const place = (row) => `#/session?${new URLSearchParams({ server: row.server, id: row.id })}`

export function sessionsView(view, parameters) {
  const asked = {
    text: "", state: "", server: "", sort: "rate", order: "descending", offset: 0, ...Object.fromEntries(parameters),
  }
  asked.offset = Number(asked.offset)
  let admins = new Set()
  let pending = null

  const text = el("input", {
    type: "search", placeholder: "environment, client, session or server", value: asked.text, "aria-label": "Filter",
    oninput: () => change({ text: text.value }),
  })
  const state = el("select", { "aria-label": "State", onchange: () => change({ state: state.value }) },
    Object.entries(STATES).map(([value, name]) => el("option", { value, selected: value === asked.state }, name)))
  const server = el("span", {})
  const pages = el("span", { class: "soft" })
  const head = el("thead")
  const body = el("tbody", { "data-list": true })
  const rows = new Rows(body)
  replace(view,
    el("div", { class: "filters" }, text, state, server, pages,
      el("button", { onclick: () => turn(-1), "data-page": "p" }, "previous"),
      el("button", { onclick: () => turn(1), "data-page": "n" }, "next")),
    el("table", {}, head, body))

  function change(what) {
    Object.assign(asked, { offset: 0 }, what)
    const shown = Object.entries(asked).filter(([, value]) => value !== "" && value !== 0)
    history.replaceState(null, "", `#/sessions?${new URLSearchParams(shown)}`)
    load()
  }

  let total = 0
  function turn(by) {
    const offset = Math.max(0, asked.offset + by * ROWS)
    if (offset < total) change({ offset })
  }

  function sortBy(column) {
    const again = asked.sort === column && asked.order === "descending"
    change({ sort: column, order: again ? "ascending" : "descending" })
  }

  async function load() {
    pending?.abort()
    const mine = pending = new AbortController()
    try {
      const page = await get("sessions", { ...asked, limit: ROWS }, mine.signal)
      if (mine === pending) show(page)
    } catch (error) {
      if (error.name !== "AbortError") replace(pages, error.message)
    }
  }

  function show(page) {
    total = page.total
    const last = Math.min(asked.offset + ROWS, total)
    replace(pages, total ? `${count(asked.offset + 1)} to ${count(last)} of ${count(total)}` : "no sessions")
    const order = `${asked.sort} ${asked.order}`
    if (head.dataset.order !== order) {
      head.dataset.order = order
      replace(head, el("tr", {}, COLUMNS.map(([name, title, number]) => heading(name, title, number, asked, sortBy))))
    }
    rows.show(page.rows)
    const chosen = `${asked.server} ${admins.has(asked.server)}`
    if (server.dataset.chosen !== chosen) { // a button that is replaced while it is pressed hears no click
      server.dataset.chosen = chosen
      replace(server, chosenServer())
    }
  }

  function chosenServer() {
    if (!asked.server) return null
    const drain = el("button", { class: "danger", onclick: () => drainServer(asked.server) }, "drain")
    return el("span", {}, `on ${asked.server} `, el("button", { onclick: () => change({ server: "" }) }, "all servers"),
      " ", admins.has(asked.server) ? drain : null)
  }

  load()
  const timer = setInterval(load, 1000)
  return {
    farm: (farm) => { admins = new Set(farm.servers.filter((each) => each.admin).map((each) => each.address)) },
    filter: () => text.focus(),
    stop: () => { clearInterval(timer); pending?.abort() },
  }
}

async function drainServer(server) {
  if (!confirm(`Drain ${server}? It takes no new sessions, waits for those that it has, and stops.`)) return
  try { alert((await post("drain", { server })).done) } catch (error) { alert(error.message) }
}

function heading(name, title, number, asked, sortBy) {
  const order = asked.sort === name ? asked.order : "none"
  const arrow = { ascending: " ↑", descending: " ↓", none: "" }[order]
  return el("th", { class: number ? "number" : null, "aria-sort": order },
    el("button", { onclick: () => sortBy(name), "data-key": name }, title + arrow))
}

// The rows of the table. A row that is shown already stays, and only those of its cells change that tell something new.
class Rows {
  shown = new Map()

  constructor(body) {
    this.body = body
  }

  show(told) {
    const before = this.shown
    this.shown = new Map(told.map((each) => [key(each), before.get(key(each)) ?? row(each)]))
    for (const each of told) update(this.shown.get(key(each)), each)
    const elements = [...this.shown.values()].map(({ element }) => element)
    if (elements.length !== this.body.children.length
      || elements.some((element, at) => element !== this.body.children[at])) replace(this.body, elements)
  }
}

const key = (each) => `${each.server}/${each.id}`

function row(each) {
  const cells = { state: el("td"), age: el("td", { class: "number" }), steps: el("td", { class: "number" }),
    rate: el("td", { class: "number" }), processor: el("td", { class: "number" }), memory: el("td", { class: "number" }) }
  const shares = shareBar(each)
  const element = el("tr", {
    tabindex: 0, "data-key": key(each), "data-href": place(each),
    onclick: () => { location.hash = place(each) },
  },
  el("td", {}, each.env),
  el("td", { title: each.id }, el("span", { class: "id" }, each.id), copyButton(each.id, "the id of the session")),
  el("td", {}, each.client),
  el("td", {}, each.server),
  Object.values(cells),
  el("td", {}, shares))
  return { element, cells, shares }
}

function update({ cells, shares }, each) {
  const texts = { state: each.state, age: duration(each.age), steps: count(each.steps), rate: count(each.rate),
    processor: processors(each.processor), memory: size(each.memory) }
  for (const [name, text] of Object.entries(texts)) {
    if (cells[name].textContent !== text) cells[name].textContent = text
  }
  fillShares(shares, each)
}
