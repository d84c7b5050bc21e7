// Calls of the page. Each carries the key, which an EventSource could not: streams are read by fetch as well.

const KEY = "envwire-key"

// Takes the key out of the address, so that nobody reads it over a shoulder or in a history.
export function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key")
  if (!given) return
  sessionStorage.setItem(KEY, given)
  history.replaceState(null, "", "#/farm")
}

async function call(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` }
  const response = await fetch(path, { ...options, headers })
  if (response.ok) return response
  const { error } = await response.json().catch(() => ({ error: response.statusText }))
  throw new Error(error)
}

export const get = async (path, parameters = {}, signal = undefined) =>
  (await call(`/api/${path}?${new URLSearchParams(parameters)}`, { signal })).json()

export const post = async (path, body) =>
  (await call(`/api/${path}`, { method: "POST", body: JSON.stringify(body) })).json()

// Calls `take` with each JSON line of a stream, until the signal ends it.
export async function follow(path, take, signal) {
  const response = await call(`/api/${path}`, { signal })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split("\n")
    rest = lines.pop()
    for (const line of lines) take(JSON.parse(line))
  }
}
