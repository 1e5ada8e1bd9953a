// Runs tests whose servers handle hostile connections and bodies, with glibc's checks of the heap in
// every process: one that writes past a buffer, or frees memory twice, ends with a message. Native
// code (HTTP/2, TLS, zlib, SQLite) is what can do so.

import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const LIBRARY = 'libc_malloc_debug.so.0';
/** The value 3: a message, and the end of the process, at the first error. */
const CHECKS = { LD_PRELOAD: LIBRARY, MALLOC_CHECK_: '3' };

const SHORT: readonly string[] = ['test/security/http2.test.ts', 'test/security/bodies.test.ts'];
const LONG: readonly string[] = [
  ...SHORT,
  'test/security/connections.test.ts',
  'test/security/event-loop.test.ts',
  'test/security/kubelet-connections.test.ts',
  'test/security/proxied-bodies.test.ts',
  'test/security/workers.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/e2e/bad-input.test.ts',
  'test/e2e/api-workers.test.ts',
];

/**
 * Reports whether a process gets the library. The loader of glibc goes on without one that is
 * missing, and says so; that of musl ends the process.
 */
function hasLibrary(): boolean {
  const env = { ...process.env, ...CHECKS };
  const { status, stderr } = spawnSync(process.execPath, ['-e', ''], { env, encoding: 'utf8' });
  return status === 0 && !stderr.includes(LIBRARY);
}

if (hasLibrary()) {
  const files = process.argv.includes('--short') ? SHORT : LONG;
  const script = ['tools/bootstrap.js', 'test', '--maxWorkers=1', ...files];
  const env = { ...process.env, ...CHECKS };
  const child = spawn(process.execPath, script, { cwd: root, env, stdio: 'inherit' });
  child.once('error', (error) => {
    throw error;
  });
  child.once('exit', (status) => {
    process.exitCode = status ?? 1;
  });
} else {
  process.stdout.write(`skipped: malloc checks: this machine has no ${LIBRARY}\n`);
  process.stdout.write('\n0 passed, 0 failed, 1 skipped\n');
}
