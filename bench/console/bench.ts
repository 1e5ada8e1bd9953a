// Measures the console's page in headless Chromium, with a list of many pods: opening, scrolling,
// filtering, the tab's memory, and what the tab costs the server while pods change.

import { type Browser, chromium, type Page } from 'playwright-core';
import { namespaces, nodes, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { findProgram, isRoot } from '#cluster/install.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { connectTo } from '../connect.ts';
import { threadsMs } from '../process-usage.ts';
import { heading, note, quantile, show } from '../report.ts';

export interface ConsoleBenchConfig {
  readonly nodes: number;
  readonly pods: number;
}

const NAMESPACE = 'bench';
const WRITERS = 64;
const ROUNDS = 3;
const SCROLLED_MS = 3000;
/** How long the server is watched without and with the tab, and the changes of pods meanwhile. */
const WATCHED_MS = 15_000;
const CHANGES_PER_SECOND = 50;
const LOADING_TIMEOUT_MS = 180_000;

export async function consolePage(config: ConsoleBenchConfig): Promise<void> {
  heading(`console: ${config.pods} pods on ${config.nodes} nodes, memory store, headless Chromium`);
  const program = findProgram('chromium');
  if (program === undefined) {
    note('skipped: chromium is not installed (apt-get install chromium)');
    return;
  }
  // No controller shall delete pods of nodes that nothing runs. The cluster's own node therefore
  // never becomes ready, and the start waits a minute for it.
  const flags = ['--runtime', 'simulated', '--store', 'memory', '--controllers', 'serviceaccount'];
  const cluster = await BuiltCluster.start({ flags });
  const { client, close } = connectTo(cluster.target);
  const browser = await chromium.launch({
    executablePath: program,
    args: [...(isRoot() ? ['--no-sandbox'] : []), '--enable-precise-memory-info'],
  });
  try {
    await fill(client, config);
    const origin = `https://${cluster.target.host}:${cluster.target.port}`;
    const alone = await serverCpu(cluster.pid, client);
    const page = await signIn(browser, client, origin);
    await measurePage(page, config);
    const withTab = await serverCpu(cluster.pid, client);
    show({
      what: `server CPU of the tab, ${CHANGES_PER_SECOND} changes/s`,
      unit: '% of a core',
      values: [Math.max(0, withTab - alone)],
      goal: { atMost: 5 },
    });
  } finally {
    await browser.close();
    close();
    await cluster.stop();
  }
}

async function measurePage(page: Page, config: ConsoleBenchConfig): Promise<void> {
  const opened: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.evaluate(`location.hash = '#/'`);
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    opened.push(Number(await page.evaluate(OPEN_LIST)));
  }
  show({ what: 'list shows its first rows', unit: 'ms', values: opened, goal: { atMost: 1000 } });
  const complete = Number(await page.evaluate(`(${COMPLETE})(${config.pods})`));
  show({ what: 'list is complete, after that', unit: 'ms', values: [complete] });
  const frames = await page.evaluate<number[]>(SCROLL);
  const rate = (frames.length * 1000) / frames.reduce((sum, each) => sum + each, 0);
  show({ what: 'frames while scrolling', unit: '/s', values: [rate], goal: { atLeast: 58 } });
  show({ what: '  longest of 99 % of frames', unit: 'ms', values: [quantile(frames, 0.99)] });
  const filtered: number[] = [];
  for (const word of ['pod-00017', 'pod-00123', 'pod-01999'])
    filtered.push(Number(await page.evaluate(`(${FILTER})(${JSON.stringify(word)})`)));
  await page.evaluate(`(${FILTER})('')`);
  show({ what: 'filter', unit: 'ms', values: filtered, goal: { atMost: 100 } });
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  show({ what: 'heap of the tab', unit: 'MB', values: [usedSize / 1e6], goal: { atMost: 300 } });
}

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

async function signIn(browser: Browser, client: Client, origin: string): Promise<Page> {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(LOADING_TIMEOUT_MS);
  for (let attempt = 1; ; attempt++) {
    const { path } = await client.transport.request<{ readonly path: string }>({
      method: 'POST',
      path: '/console/codes',
    });
    try {
      await page.goto(`${origin}${path}`);
      break;
    } catch (error) {
      // Chromium aborts requests when an interface of the machine comes or goes.
      if (attempt === 5 || !String(error).includes('ERR_NETWORK_CHANGED')) throw error;
    }
  }
  await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
  return page;
}

/** Returns the percentage of a core that the server uses while pods change. */
async function serverCpu(pid: number, client: Client): Promise<number> {
  const inBench = client.resource(pods).namespace(NAMESPACE);
  const began = systemClock.monotonic();
  const cpu = threadsMs(pid);
  for (let n = 0; systemClock.monotonic() - began < WATCHED_MS; n++) {
    await inBench.patch(podName(n % 1000), 'application/merge-patch+json', {
      metadata: { annotations: { change: String(n) } },
    });
    const due = began + ((n + 1) * 1000) / CHANGES_PER_SECOND;
    await systemClock.sleep(Math.max(0, due - systemClock.monotonic()));
  }
  return ((threadsMs(pid) - cpu) / (systemClock.monotonic() - began)) * 100;
}

const podName = (n: number): string => `pod-${String(n).padStart(6, '0')}`;

/** Creates nodes and running pods. No kubelet is behind them. */
async function fill(client: Client, config: ConsoleBenchConfig): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name: NAMESPACE } });
  const nodeName = (n: number): string => `node-${String(n).padStart(5, '0')}`;
  await inParallel(config.nodes, async (n) => {
    await client.resource(nodes).create({ metadata: { name: nodeName(n) } });
  });
  const inBench = client.resource(pods).namespace(NAMESPACE);
  await inParallel(config.pods, async (n) => {
    const created = await inBench.create({
      metadata: { name: podName(n), labels: { app: `app-${n % 100}`, tier: n % 2 ? 'a' : 'b' } },
      spec: {
        nodeName: nodeName(n % config.nodes),
        containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }],
      },
    });
    const startTime = created.metadata.creationTimestamp;
    const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      type,
      status: 'True' as const,
      lastTransitionTime: startTime,
    }));
    await inBench.updateStatus({
      ...created,
      status: { ...created.status, phase: 'Running', podIP: '10.0.0.1', startTime, conditions },
    });
  });
}

async function inParallel(count: number, action: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (next < count) await action(next++);
    }),
  );
}
