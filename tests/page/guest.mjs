// Without an admin's token, and without the key.

import { check, onPage } from "./browser.mjs"

const [address] = process.argv.slice(2)

await onPage(address, async (page) => {
  await page.keyboard.press("2")
  await page.locator("tbody tr").first().click()
  await page.waitForSelector("dl")
  check(await page.getByRole("button", { name: "end this session" }).count() === 0, "there is nothing to end it with")
  const statuses = await page.evaluate(async () => {
    const key = sessionStorage.getItem("envwire-key")
    const place = Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]))
    const post = (authorization) =>
      fetch("/api/end", { method: "POST", headers: { Authorization: authorization }, body: JSON.stringify(place) })
    const calls = [await post(`Bearer ${key}`), await post("Bearer guessed"), await post("")]
    return calls.map((call) => call.status)
  })
  return { statuses }
}).catch((error) => {
  // The browser complains of the three refusals, and of nothing else.
  const complaints = error.message.split("\n")
  if (!complaints.every((each) => each.startsWith("Failed to load resource"))) throw error
  console.log(JSON.stringify({ refusals: complaints.map((each) => Number(/status of (\d+)/.exec(each)[1])) }))
})
