// The farm: a heat map of its servers, steps a second, and where the time goes.

import { chart, count, counted, el, History, legend, percent, processors, replace, shareBar, size } from "./dom.js"

const DENSE = 60
const rates = new History()

export function note(farm) {
  if (farm.rates) rates.begin(farm.rates)
  rates.add(farm.rate)
}

export function farmView(view) {
  const body = el("div")
  replace(view, body)
  return { farm: (farm) => replace(body, contents(farm)) }
}

function contents(farm) {
  const servers = [...farm.servers].sort((a, b) => a.address.localeCompare(b.address, "en", { numeric: true }))
  return [
    el("section", { class: "panel" },
      el("p", { class: "verdict" }, farm.verdict),
      shareBar(farm.shares),
      legend(farm.shares)),
    el("h2", {}, `${counted(farm.rate, "step")} a second; environments take ${processors(farm.processor)} processors `
      + `and ${size(farm.memory)}`),
    el("div", { class: "panel" }, chart(rates.values, "Steps a second in the last five minutes")),
    el("h2", {}, summary(servers, farm.waiting)),
    el("div", { class: servers.length > DENSE ? "map dense" : "map", "data-list": true }, servers.map(server)),
    el("p", { class: "soft" }, alarms(servers)),
    el("h2", {}, "Clients with the most sessions"),
    el("table", { class: "clients" },
      el("thead", {}, el("tr", {}, el("th", {}, "client"),
        ["sessions", "steps/s", "processors", "memory"].map((name) => el("th", { class: "number" }, name)))),
      el("tbody", {}, farm.clients.map(client))),
  ]
}

function client(each) {
  const href = `#/sessions?${new URLSearchParams({ text: each.client })}`
  return el("tr", {}, el("td", {}, el("a", { href, "data-key": `client ${each.client}` }, each.client)),
    [count(each.sessions), count(each.rate), processors(each.processor), size(each.memory)]
      .map((text) => el("td", { class: "number" }, text)))
}

function summary(servers, waiting) {
  const active = servers.reduce((sum, each) => sum + each.active, 0)
  const slots = servers.reduce((sum, each) => sum + each.slots, 0)
  const queue = waiting ? `, ${counted(waiting, "waiting Make")}` : ""
  return `${counted(servers.length, "server")}: ${count(active)} of ${count(slots)} sessions in use${queue}`
}

function server(each) {
  const load = each.slots ? each.active / each.slots : 0
  const bar = el("span")
  bar.style.width = percent(load).replace(" ", "")
  const told = `${each.address}: ${each.state}, ${each.active} of ${each.slots} sessions`
  return el("a", {
    class: `server ${each.state}`, "data-key": each.address, title: each.error ? `${told}: ${each.error}` : told,
    href: `#/sessions?${new URLSearchParams({ server: each.address })}`,
  },
  el("b", {}, each.address),
  el("span", { class: "detail" }, each.error && each.state === "unreachable" ? each.error
    : `${each.state} · ${count(each.active)}/${count(each.slots)} · ${count(each.rate)} steps/s`),
  el("span", { class: "load" }, bar))
}

function alarms(servers) {
  const versions = new Set(servers.map((each) => each.version).filter(Boolean))
  const gone = servers.filter((each) => ["dead", "suspect", "unreachable"].includes(each.state)).length
  const told = []
  if (gone) told.push(`${counted(gone, "server")} ${gone === 1 ? "does" : "do"} not answer.`)
  if (versions.size > 1) told.push(`The servers have different versions: ${[...versions].sort().join(", ")}.`)
  else if (versions.size) told.push(`Version ${[...versions][0]}.`)
  return told.join(" ")
}
