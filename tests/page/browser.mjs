// Opens the page in Chromium, runs a scenario, and fails on whatever the browser complains about.

import { chromium } from "playwright-core"

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]

export async function onPage(address, scenario) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS })
  const permissions = ["clipboard-read", "clipboard-write"]
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, permissions })
  const complaints = []
  page.setDefaultTimeout(30_000)
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()) })
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("dialog", (dialog) => dialog.accept())
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(address).origin) && !request.url().startsWith("data:")) {
      complaints.push(`a request elsewhere: ${request.url()}`)
    }
  })
  try {
    await page.goto(address)
    const found = await scenario(page)
    if (complaints.length) throw new Error(complaints.join("\n"))
    console.log(JSON.stringify(found ?? {}))
  } finally {
    await browser.close()
  }
}

export function check(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`)
}
