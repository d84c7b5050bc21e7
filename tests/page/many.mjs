// A farm of 10,000 sessions: the table is filtered, sorted and turned, and what servers tell is shown as text.

import { check, onPage } from "./browser.mjs"

const [address] = process.argv.slice(2)

async function shows(page, text) {
  await page.waitForFunction((wanted) => document.getElementById("view").innerText.includes(wanted), text)
}

await onPage(address, async (page) => {
  await page.waitForSelector(".server.dead")
  check(!page.url().includes("key="), "the key has left the address")
  for (const state of ["draining", "suspect", "dead", "unreachable"]) await page.waitForSelector(`.server.${state}`)
  await page.keyboard.press("2")
  await shows(page, "1 to 50 of 10,000")
  await page.keyboard.press("n")
  await shows(page, "51 to 100 of 10,000")
  check(await page.locator("tbody tr").count() === 50, "a page has 50 rows")
  await page.getByRole("button", { name: "steps", exact: true }).click()
  await shows(page, "steps ↓")
  const first = await page.locator("tbody tr").first().elementHandle()
  const steps = await first.evaluate((row) => row.children[6].innerText)
  await page.waitForFunction(([row, before]) => row.children[6].innerText !== before, [first, steps])
  check(await first.evaluate((row) => row.isConnected), "a row stays when its numbers change")
  await page.keyboard.press("/")
  await page.keyboard.type("session-04242")
  await shows(page, "1 to 1 of 1")
  await page.keyboard.press("Escape")
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Enter")
  await page.waitForSelector("pre")
  check((await page.innerText("pre")).includes("<script>window.ran = 1</script>"), "output is shown as it is")
  check((await page.innerText("dl")).includes("<img src=x onerror='window.ran = 1'>"), "so are ids and names")
  check((await page.innerText(".verdict")).includes("Environments take 60 %"), "and where the time goes")
  check(await page.evaluate(() => window.ran) === undefined, "nothing of it is run")
  await page.keyboard.press("Escape")
  await shows(page, "1 to 1 of 1")
  return page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem("envwire-key")}` }
    const times = []
    for (let asked = 0; asked < 60; asked += 1) {
      const sort = ["rate", "env", "age", "steps"][asked % 4]
      const begun = performance.now()
      const text = asked % 3 ? "" : "session-0"
      const call = await fetch(`/api/sessions?${new URLSearchParams({ sort, text, offset: 50 * asked })}`, { headers })
      await call.json()
      times.push(performance.now() - begun)
    }
    times.sort((a, b) => a - b)
    return { p50: times[30], p95: times[57] }
  })
})
