// One session: what it does, or how it ended: events, exit status, last output, last picture.

import { follow, get, post } from "./api.js"
import { chart, count, duration, el, History, legend, replace, shareBar } from "./dom.js"

export function sessionView(view, parameters) {
  const place = { server: parameters.get("server"), id: parameters.get("id") }
  const rates = new History()
  const stopped = new AbortController()
  const body = el("div")
  const picture = el("div", { class: "last" })
  let pictures = false
  replace(view, body)

  async function load() {
    try {
      const session = await get("session", place, stopped.signal)
      rates.add(session.row?.rate ?? 0)
      showPicture(session)
      replace(body, contents(session))
      if (session.row?.frames && !pictures) watch()
    } catch (error) {
      if (error.name !== "AbortError") replace(body, el("p", {}, error.message))
    }
  }

  function watch() {
    pictures = true
    const tile = `${place.server}/${place.id}`
    follow(`wall?${new URLSearchParams({ tile })}`, showTile, stopped.signal).catch(() => {})
  }

  function showTile(tile) {
    replace(picture, tile.png ? el("img", { src: tile.png, alt: "The environment now" }) : tile.text)
  }

  function showPicture(session) {
    if (session.row?.frames && !session.refused) return
    replace(picture, session.picture ? el("img", { src: session.picture, alt: "The last picture" }) : "no picture")
  }

  function contents(session) {
    const row = session.row
    if (!row) return el("p", {}, session.verdict)
    return [
      el("p", { class: "verdict" }, session.verdict),
      el("div", { class: "columns" },
        el("div", {}, facts(row, session), el("h2", {}, "Steps a second"),
          el("div", { class: "panel" }, chart(rates.values, "Steps a second since this page was opened")),
          el("h2", {}, "What happened"), events(session, row), el("h2", {}, "Last output"), output(session)),
        el("div", {}, picture, buttons(session, row))),
    ]
  }

  function buttons(session, row) {
    if (!session.admin || session.events?.some((event) => event.text.startsWith("ended"))) return null
    return el("p", {}, el("button", { class: "danger", "data-key": "end", onclick: () => end(row) }, "end this session"))
  }

  async function end(row) {
    if (!confirm(`End the session of ${row.client}? Its environment is closed, and its client is told.`)) return
    try { await post("end", place) } catch (error) { alert(error.message) }
    load()
  }

  load()
  const timer = setInterval(load, 1000)
  return { stop: () => { clearInterval(timer); stopped.abort() } }
}

function facts(row, session) {
  const known = {
    environment: row.env, client: row.client, server: row.server, session: row.id, state: row.state,
    age: duration(row.age), steps: count(row.steps), "steps a second": count(row.rate),
  }
  if (session.exit_status != null) known["exit status"] = session.exit_status
  return el("div", { class: "panel" },
    el("dl", {}, Object.entries(known).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])),
    el("h2", {}, "Where its time goes"), shareBar(row), legend(row))
}

function events(session, row) {
  if (session.refused) return el("p", { class: "soft" }, session.refused)
  const first = session.events[0]?.at ?? 0
  return el("ol", { class: "events panel" }, session.events.map((event) =>
    el("li", {}, el("time", {}, `+${duration(event.at - first)}`), event.text)))
}

function output(session) {
  if (session.refused) return null
  if (session.output_withheld) return el("p", { class: "soft" }, "Clients share its process: admins see the output.")
  return el("pre", { class: "panel", tabindex: 0, "data-key": "output" }, session.output || "nothing so far")
}
