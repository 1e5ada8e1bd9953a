// An API server with a console for tests, and requests as a browser's pages send them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ApiServerConfig } from '#apiserver/config.ts';
import { type RawResponse, send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { consoleMounts, type ConsoleMountConfig } from '#cluster/console/console.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { COOKIE } from '../session/cookie.ts';

export const HOST = 'cluster.example:6443';
/** The headers of a request of the console's pages. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  host: HOST,
  origin: `https://${HOST}`,
  'sec-fetch-site': 'same-origin',
  'x-coxswain-console': '1',
};

const TOKENS = new Map([
  ['admin-token', { name: 'admin', groups: ['system:masters'] }],
  ['jane-token', { name: 'jane', groups: ['developers'] }],
]);

export const FILES: Readonly<Record<string, string>> = {
  'index.html': '<!doctype html><script nonce="%CSP_NONCE%" src="app-ABCDEF12.js"></script>',
  'app-ABCDEF12.js': `export const text = ${JSON.stringify('x'.repeat(4000))};\n`,
  'robots.txt': 'User-agent: *\n',
  'secret.pem': 'not of a served type\n',
};

export interface ConsoleServer {
  readonly test: TestServer;
  readonly clock: VirtualClock;
  readonly folder: string;
  /** Sends a request of the console's pages. `cookie`: of a session. */
  page(
    method: string,
    path: string,
    options?: {
      readonly body?: string | object;
      readonly cookie?: string;
      readonly headers?: Readonly<Record<string, string | undefined>>;
    },
  ): Promise<RawResponse>;
  /** Signs in, and returns the value of the cookie. */
  signIn(body: object): Promise<string>;
  stop(): Promise<void>;
}

export async function startConsoleServer(
  config: Partial<ConsoleMountConfig> = {},
  serverConfig: Partial<ApiServerConfig> = {},
): Promise<ConsoleServer> {
  const clock = new VirtualClock();
  const folder = mkdtempSync(join(tmpdir(), 'console-files-'));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const test = await startTestServer({
    clock,
    tokens: TOKENS,
    ...consoleMounts({ clock, random: systemRandom, folder, ...config }),
    ...serverConfig,
  });
  const page: ConsoleServer['page'] = (method, path, { body, cookie, headers = {} } = {}) => {
    const all: Record<string, string | undefined> = {
      ...PAGE_HEADERS,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(cookie !== undefined && { cookie: `${COOKIE}=${cookie}` }),
      ...headers,
    };
    const sent = Object.entries(all).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    return send(test.server, {
      method,
      path,
      headers: Object.fromEntries(sent),
      rawHeaders: sent.flat(),
      user: null,
      ...(body !== undefined && { body }),
    });
  };
  return {
    test,
    clock,
    folder,
    page,
    signIn: async (body) => cookieIn(await page('POST', '/console/session', { body })),
    stop: async () => {
      await test.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the value of the session cookie that a response sets. Throws if it sets none. */
export function cookieIn(response: RawResponse): string {
  const header = String(response.headers['set-cookie'] ?? '');
  const [, value] = new RegExp(`^${COOKIE}=([^;]+);`).exec(header) ?? [];
  if (value === undefined) throw new Error(`${response.code} sets no cookie: ${response.text}`);
  return value;
}
