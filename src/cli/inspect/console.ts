// `cox console`: a link that signs a browser in once, as the user of the kubeconfig.

import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { type ConnectionFlags, withConnection } from './connection.ts';
import { type OutputFlags, writeJson } from './output.ts';

export interface ConsoleFlags extends ConnectionFlags, OutputFlags {
  readonly open: boolean;
}

interface LoginCode {
  readonly path: string;
  readonly expires: string;
  readonly expiresInSeconds: number;
}

export async function console(flags: ConsoleFlags): Promise<void> {
  const { server, code } = await withConnection(flags, async (connection) => ({
    server: connection.server,
    code: await connection.client.transport
      .request<LoginCode>({ method: 'POST', path: '/console/codes' })
      .catch((error: unknown) => {
        if (!apierrors.isNotFound(error)) throw error;
        throw new UserError(
          `${connection.server} has no console: it was started with --console=false, or is no coxswain`,
          { cause: error },
        );
      }),
  }));
  const url = new URL(code.path, server).href;
  if (flags.output === 'json') {
    writeJson({ url, expires: code.expires });
    return;
  }
  process.stdout.write(`${url}\n`);
  const life = `the link signs in once, within ${code.expiresInSeconds} s`;
  const opener = flags.open ? findOpener(process.env, process.platform) : undefined;
  process.stderr.write(`${life}${opener === undefined ? '' : '; opening it …'}\n`);
  if (opener !== undefined) await openInBrowser(opener, url);
}

/**
 * Returns the program that opens pages. Undefined: there is no desktop. `environment`: with PATH and
 * the display.
 */
export function findOpener(
  environment: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): string | undefined {
  const isMac = platform === 'darwin';
  if (!isMac && !environment['DISPLAY'] && !environment['WAYLAND_DISPLAY']) return undefined;
  return (environment['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, isMac ? 'open' : 'xdg-open'))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Most folders do not have it.
    return false;
  }
}

/** The time that a browser has to read the file, in ms. */
const READING_MS = 10_000;

/**
 * Opens the link. Arguments of processes can be read by every user of the machine, so the browser
 * gets the name of a file that only this user can read, and the file has the link.
 */
async function openInBrowser(opener: string, url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-console-'));
  try {
    const file = join(folder, 'login.html');
    writeFileSync(file, redirectPage(url), { mode: 0o600 });
    const child = spawn(opener, [pathToFileURL(file).href], { stdio: 'ignore', detached: true });
    const failed = new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(true));
      child.once('exit', (status) => status !== 0 && resolve(true));
    });
    child.unref();
    const late = systemClock.sleep(READING_MS).then(() => false);
    if (await Promise.race([failed, late]))
      process.stderr.write('the page could not be opened here: open the link in a browser\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns a page that goes on to the link. */
export function redirectPage(url: string): string {
  const escaped = url
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return (
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">' +
    `<meta http-equiv="refresh" content="0;url=${escaped}"><a href="${escaped}">Coxswain console</a>\n`
  );
}
