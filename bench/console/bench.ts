// Measures the console's page in headless Chromium, with a list of many pods: opening, scrolling,
// filtering, the tab's memory, and what the tab costs the server while pods change.

import { rmSync } from 'node:fs';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { connectTo } from '../connect.ts';
import { threadsMs } from '../process-usage.ts';
import { fillStore, NAMESPACE, podName } from './fill.ts';
import { heading, note, quantile, show } from '../report.ts';

export interface ConsoleBenchConfig {
  readonly nodes: number;
  readonly pods: number;
}

const LOADS = 4;
const ROUNDS = 3;
const SCROLLED_MS = 3000;
/** How long the server is watched without and with the tab, and the changes of pods meanwhile. */
const WATCHED_MS = 30_000;
/**
 * The changes before that. The garbage of opened lists is only collected when new objects come, and
 * is part of opening a list, not of an open tab.
 */
const WARMED_MS = 30_000;
const CHANGES_PER_SECOND = 50;
/** A server that uses less of a core than this is at rest, if it does so in several looks. */
const REST_SHARE = 0.05;
const REST_LOOK_MS = 2000;
const QUIET_LOOKS = 3;
const REST_TIMEOUT_MS = 90_000;
const LOADING_TIMEOUT_MS = 180_000;

export async function consolePage(config: ConsoleBenchConfig): Promise<void> {
  heading(
    `console: ${config.pods} pods on ${config.nodes} nodes, embedded store, headless Chromium`,
  );
  const program = findProgram('chromium');
  if (program === undefined) {
    note('skipped: chromium is not installed (apt-get install chromium)');
    return;
  }
  const dataDir = temporaryDirectory('coxswain-bench-console-');
  try {
    await fillStore({ dataDir, ...config });
    await measureCluster(program, dataDir, config);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measureCluster(
  program: string,
  dataDir: string,
  config: ConsoleBenchConfig,
): Promise<void> {
  // No controller shall delete pods of nodes that nothing runs. The cluster's own node therefore
  // never becomes ready, and the start waits a minute for it.
  const flags = ['--runtime', 'simulated', '--controllers', 'serviceaccount'];
  const cluster = await BuiltCluster.start({ flags, dataDir });
  const { client, close } = connectTo(cluster.target);
  const browser = await chromium.launch({
    executablePath: program,
    args: [...(isRoot() ? ['--no-sandbox'] : []), '--enable-precise-memory-info'],
  });
  try {
    const origin = `https://${cluster.target.host}:${cluster.target.port}`;
    await measureFirstPaint(browser, origin);
    const page = await signIn(browser, client, origin);
    await measurePage(page, config);
    const cpu = (ms: number): Promise<number> => serverCpu(cluster.pid, client, config.pods, ms);
    await serverAtRest(cluster.pid);
    const atFirst = await cpu(WARMED_MS);
    const withTab = await cpu(WATCHED_MS);
    await page.context().close();
    await serverAtRest(cluster.pid);
    await cpu(WARMED_MS);
    const alone = await cpu(WATCHED_MS);
    show({
      what: `server CPU of the tab, ${CHANGES_PER_SECOND} changes/s`,
      unit: '% of a core',
      // Both are noisy, so the difference may be below zero.
      values: [Math.max(0.01, withTab - alone)],
      goal: { atMost: 5 },
    });
    show({ what: '  CPU of the server without the tab', unit: '% of a core', values: [alone] });
    show({ what: '  and in the first 30 s of a tab', unit: '% of a core', values: [atFirst] });
  } finally {
    await browser.close();
    close();
    await cluster.stop();
  }
}

/** Loads the page several times, each in a new context: nothing is cached. */
async function measureFirstPaint(browser: Browser, origin: string): Promise<void> {
  const paints: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < LOADS; round++) {
    const page = await newPage(browser);
    const work = await MainThread.of(page);
    await visit(page, async () => `${origin}/console/`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    paints.push(Number(await page.evaluate(FIRST_PAINT)));
    cpu.push((await work.since()).all);
    await page.context().close();
  }
  show({ what: 'first paint', unit: 'ms', values: paints, goal: { atMost: 300 } });
  show({ what: '  CPU of the page until the form is there', unit: 'ms', values: cpu });
}

async function measurePage(page: Page, config: ConsoleBenchConfig): Promise<void> {
  const opened: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.evaluate(`location.hash = '#/'`);
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    opened.push(Number(await page.evaluate(OPEN_LIST)));
  }
  show({ what: 'list shows its first rows', unit: 'ms', values: opened, goal: { atMost: 1000 } });
  const main = await MainThread.of(page);
  const complete = Number(await page.evaluate(`(${COMPLETE})(${config.pods})`));
  show({ what: 'list is complete, after that', unit: 'ms', values: [complete] });
  show({ what: '  CPU of the page', unit: 'ms', values: [(await main.since()).all] });
  const scrolling = await MainThread.of(page);
  const frames = await page.evaluate<number[]>(SCROLL);
  const work = await scrolling.since();
  const rate = (frames.length * 1000) / frames.reduce((sum, each) => sum + each, 0);
  show({ what: 'frames while scrolling', unit: '/s', values: [rate], goal: { atLeast: 58 } });
  show({ what: '  longest of 99 % of frames', unit: 'ms', values: [quantile(frames, 0.99)] });
  const perFrame = (ms: number): number[] => [ms / frames.length];
  // At 60 frames a second there are 16.7 ms for each, which the rest of the browser shares.
  show({
    what: '  CPU of the page per frame',
    unit: 'ms',
    values: perFrame(work.all),
    goal: { atMost: 10 },
  });
  show({ what: '    scripts', unit: 'ms', values: perFrame(work.scripts) });
  show({ what: '    styles and layout', unit: 'ms', values: perFrame(work.layout) });
  const filtered: number[] = [];
  const filterCpu: number[] = [];
  const half = String(Math.floor(config.pods / 2000)).padStart(5, '0');
  for (const word of [`pod-${half}`, 'pod-00012', 'app=app-7', 'node-00001']) {
    const filtering = await MainThread.of(page);
    filtered.push(Number(await page.evaluate(`(${FILTER})(${JSON.stringify(word)})`)));
    filterCpu.push((await filtering.since()).all);
    // The number of rows has to change with each filter.
    await page.evaluate(`(${FILTER})('')`);
  }
  show({ what: 'filter', unit: 'ms', values: filtered, goal: { atMost: 100 } });
  show({ what: '  CPU of the page', unit: 'ms', values: filterCpu });
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  show({ what: 'heap of the tab', unit: 'MB', values: [usedSize / 1e6], goal: { atMost: 300 } });
}

/**
 * The processor time of a page's main thread, which does not depend on the other work of the
 * machine as durations do.
 */
class MainThread {
  readonly #session: CDPSession;
  readonly #began: ReadonlyMap<string, number>;

  private constructor(session: CDPSession, began: ReadonlyMap<string, number>) {
    this.#session = session;
    this.#began = began;
  }

  static async of(page: Page): Promise<MainThread> {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new MainThread(session, await metricsOf(session));
  }

  /** Returns the milliseconds since this value was made. */
  async since(): Promise<{
    readonly all: number;
    readonly scripts: number;
    readonly layout: number;
  }> {
    const now = await metricsOf(this.#session);
    const ms = (name: string): number =>
      ((now.get(name) ?? 0) - (this.#began.get(name) ?? 0)) * 1000;
    await this.#session.detach();
    return {
      all: ms('TaskDuration'),
      scripts: ms('ScriptDuration'),
      layout: ms('LayoutDuration') + ms('RecalcStyleDuration'),
    };
  }
}

async function metricsOf(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}

const FIRST_PAINT = `performance.getEntriesByName('first-contentful-paint')[0].startTime`;

/** Opens the list of pods. Returns the time until the first row is drawn, in ms. */
const OPEN_LIST = `new Promise((resolve) => {
  const began = performance.now();
  location.hash = '#/list/pods';
  const look = () =>
    document.querySelector('[role=row] a') === null
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => resolve(performance.now() - began));
  look();
})`;

/** Waits until the list has all rows. Returns the time, in ms. */
const COMPLETE = `(count) => new Promise((resolve) => {
  const began = performance.now();
  const rows = () => Number(document.querySelector('[aria-rowcount]')?.getAttribute('aria-rowcount'));
  const look = () =>
    rows() >= count ? resolve(performance.now() - began) : requestAnimationFrame(look);
  look();
})`;

/** Scrolls through the list. Returns the times between frames, in ms. */
const SCROLL = `new Promise((resolve) => {
  const scroller = document.querySelector('[aria-rowcount]');
  const frames = [];
  const began = performance.now();
  let last = began;
  const step = () => {
    const now = performance.now();
    frames.push(now - last);
    last = now;
    if (now - began > ${SCROLLED_MS}) return resolve(frames);
    scroller.scrollTop += 400;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** Types into the filter. Returns the time until the number of rows has changed, in ms. */
const FILTER = `(word) => new Promise((resolve) => {
  const input = document.querySelector('input[aria-label=Filter]');
  const rows = () => document.querySelector('[aria-rowcount]')?.getAttribute('aria-rowcount');
  const before = rows();
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const began = performance.now();
  set.call(input, word);
  input.dispatchEvent(new Event('input', { bubbles: true }));
  const look = () =>
    rows() === before && performance.now() - began < 10_000
      ? requestAnimationFrame(look)
      : requestAnimationFrame(() => resolve(performance.now() - began));
  look();
})`;

async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(LOADING_TIMEOUT_MS);
  return page;
}

/** Chromium aborts requests when an interface of the machine comes or goes: `url` is called again. */
async function visit(page: Page, url: () => Promise<string>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await page.goto(await url());
      return;
    } catch (error) {
      if (attempt === 5 || !String(error).includes('ERR_NETWORK_CHANGED')) throw error;
    }
  }
}

async function signIn(browser: Browser, client: Client, origin: string): Promise<Page> {
  const page = await newPage(browser);
  await visit(page, async () => {
    const { path } = await client.transport.request<{ readonly path: string }>({
      method: 'POST',
      path: '/console/codes',
    });
    return `${origin}${path}`;
  });
  await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
  return page;
}

/** Waits until the server has nothing left to do of the lists that it has served. */
async function serverAtRest(pid: number): Promise<void> {
  const deadline = systemClock.monotonic() + REST_TIMEOUT_MS;
  let quiet = 0;
  while (quiet < QUIET_LOOKS && systemClock.monotonic() < deadline) {
    const [began, cpu] = [systemClock.monotonic(), threadsMs(pid)];
    await systemClock.sleep(REST_LOOK_MS);
    const share = (threadsMs(pid) - cpu) / (systemClock.monotonic() - began);
    quiet = share < REST_SHARE ? quiet + 1 : 0;
  }
}

/**
 * Returns the percentage of a core that the server uses at CHANGES_PER_SECOND. It is computed from
 * the processor time for each change, because a busy machine makes fewer of them.
 */
async function serverCpu(pid: number, client: Client, count: number, ms: number): Promise<number> {
  const inBench = client.resource(pods).namespace(NAMESPACE);
  const began = systemClock.monotonic();
  const used = threadsMs(pid);
  let changes = 0;
  for (; systemClock.monotonic() - began < ms; changes++) {
    const n = changes;
    await inBench.patch(podName(n % Math.min(count, 1000)), 'application/merge-patch+json', {
      metadata: { annotations: { change: String(n) } },
    });
    const due = began + ((n + 1) * 1000) / CHANGES_PER_SECOND;
    await systemClock.sleep(Math.max(0, due - systemClock.monotonic()));
  }
  const msPerChange = (threadsMs(pid) - used) / changes;
  return ((msPerChange * CHANGES_PER_SECOND) / 1000) * 100;
}
