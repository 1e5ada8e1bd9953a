// The console in headless Chromium: a browser, pages that record what goes wrong in them, and sign-in.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Cookie,
  type Page,
} from 'playwright-core';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { coxArgs, run } from '../harness.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const program = findProgram('chromium');

/** The reason why these tests are skipped. Undefined: they run. */
export const missingBrowser =
  program === undefined
    ? 'chromium is not installed (apt-get install chromium)'
    : existsSync(join(root, 'dist', 'console', 'index.html'))
      ? undefined
      : 'the console is not built (npm run build)';

/** A size of window that shows the whole layout. */
const WINDOW = { width: 1280, height: 800 };
/** How long a page may take to show something. Other tests share the machine. */
const TIMEOUT_MS = 45_000;

export function launchBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: program as string,
    args: [...(isRoot() ? ['--no-sandbox'] : []), ...args],
  });
}

/** A page, and everything in it that a user would call a defect. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Exceptions, violations of the content security policy, dialogs, and requests to elsewhere. */
  readonly defects: readonly string[];
  /** The number of requests that the browser has dropped (see `despiteNetworkChanges`). */
  readonly droppedRequests: number;
  close(): Promise<void>;
}

export async function openPage(
  browser: Browser,
  origin: string,
  options: {
    readonly colorScheme?: 'light' | 'dark';
    readonly width?: number;
    /** Other origins that the page may visit. */
    readonly elsewhere?: readonly string[];
    /** The cookies of a page that is signed in, whose session this page gets. Default: none. */
    readonly cookies?: readonly Cookie[];
  } = {},
): Promise<ConsolePage> {
  const { colorScheme = 'light', width = WINDOW.width, elsewhere = [], cookies = [] } = options;
  const origins = [origin, ...elsewhere].map((each) => `${each}/`);
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { ...WINDOW, width },
    colorScheme,
    reducedMotion: 'reduce',
  });
  await context.addCookies(
    cookies.map(({ name, value, httpOnly, secure, sameSite }) => {
      return { name, value, httpOnly, secure, sameSite, url: origin };
    }),
  );
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const defects: string[] = [];
  page.on('pageerror', (error) => defects.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // Answers with an error code are part of some tests, and the network of a test machine changes.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
      defects.push(`console: ${text} (${message.location().url}:${message.location().lineNumber})`);
  });
  page.on('dialog', (dialog) => {
    defects.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!origins.some((each) => url.startsWith(each)) && !/^(data|blob):/.test(url))
      defects.push(`request to elsewhere: ${url}`);
  });
  let droppedRequests = 0;
  page.on('requestfailed', (request) => {
    if (request.failure()?.errorText === NETWORK_CHANGED) droppedRequests += 1;
  });
  return {
    page,
    context,
    defects,
    get droppedRequests() {
      return droppedRequests;
    },
    close: () => context.close(),
  };
}

/**
 * Chromium drops all requests when an interface of the machine comes or goes, as those of containers
 * do in other tests. Reads are sent again by the page, but not writes, terminals and navigations.
 */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';
const ATTEMPTS = 3;

export interface Attempt {
  /** Returns the name of an object, which is another one in each attempt. */
  named(name: string): string;
}

/**
 * Runs a test, and again if it fails after the browser has dropped a request. A failure for any
 * other reason is a failure. `pages`: those that the test has opened; `closePages` empties it.
 */
export async function despiteNetworkChanges(
  pages: readonly ConsolePage[],
  body: (attempt: Attempt) => Promise<void>,
  closePages: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const suffix = attempt === 1 ? '' : `-${attempt}`;
    try {
      await body({ named: (name) => `${name}${suffix}` });
      return;
    } catch (error) {
      const dropped =
        String(error).includes(NETWORK_CHANGED) ||
        pages.some(({ droppedRequests }) => droppedRequests > 0);
      if (attempt === ATTEMPTS || !dropped) throw error;
      await closePages();
    }
  }
}

/** Returns a one-time login link of the kubeconfig's user, as `cox console` prints it. */
export async function loginLink(kubeconfig: string): Promise<string> {
  const { stdout, stderr, status } = await run(process.execPath, [
    ...coxArgs,
    'console',
    '--no-open',
    '--kubeconfig',
    kubeconfig,
  ]);
  if (status !== 0) throw new Error(`cox console ended with ${status}: ${stderr}`);
  return stdout.trim();
}

/** Opens an address, again if the browser drops the request. */
export async function openAddress(page: Page, url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await page.goto(url);
      return;
    } catch (error) {
      if (attempt === 5 || !String(error).includes(NETWORK_CHANGED)) throw error;
    }
  }
}

/** Signs in by a new link. The files of the page may not have arrived (see openAddress). */
export async function signInByLink(page: Page, kubeconfig: string, user: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await openAddress(page, await loginLink(kubeconfig));
    try {
      await signedInAs(page, user);
      return;
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

export async function signInWithToken(page: Page, origin: string, token: string): Promise<void> {
  await openAddress(page, `${origin}/console/`);
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits until the page shows that the user is signed in. */
export async function signedInAs(page: Page, user: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`Signed in as ${user}`) }).waitFor();
}

/** Returns the violations of accessibility rules, one line each. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, which the content security policy does not restrict.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { axe: present } = globalThis as unknown as { axe: typeof axe };
    // Copies of style sheets, which only experimental rules read, would be inline styles.
    const { violations: found } = await present.run({ preload: false });
    return found.map(({ id, nodes }) => ({
      id,
      nodes: nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`),
    }));
  });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node}`));
}

/** The pages whose pictures are in the documentation. */
const PICTURES: ReadonlySet<string> = new Set(['overview', 'pods', 'why', 'scheduler']);

/**
 * Writes docs/images/console-NAME.png if the documentation has it and CONSOLE_SCREENSHOTS=1 asks for
 * new pictures.
 */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (process.env['CONSOLE_SCREENSHOTS'] !== '1' || !PICTURES.has(name)) return;
  // The network of the test machine has changed a moment ago.
  await page.getByText('reconnecting').waitFor({ state: 'detached' });
  await page.screenshot({
    path: join(root, 'docs', 'images', `console-${name}.png`),
    animations: 'disabled',
  });
}
