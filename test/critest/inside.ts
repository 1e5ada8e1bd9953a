// The part of the run inside of the room: a registry, the runtime, and critest, in this order.
//
//   inside.ts CRITEST IMAGES OUTPUT [FLAG OF CRITEST…]

import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, existsSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { REGISTRIES, serveRegistry } from './registry.ts';

const PORT = 5000;
const SOCKET = '/run/cox.sock';
const root = fileURLToPath(new URL('../../', import.meta.url));

const [critest = '', images = '', output = '', ...flags] = process.argv.slice(2);

async function main(): Promise<number> {
  // critest changes the machine that it runs on; only the room has this name.
  if (hostname() !== 'critest') throw new Error('this runs in room.sh alone');
  const stop = await serveRegistry(images, PORT);
  const runtime = startRuntime();
  try {
    const ended = new Promise<never>((_, reject) =>
      runtime.once('exit', (code) => reject(new Error(`the runtime ended with ${code}`))),
    );
    await Promise.race([
      ended,
      wait.pollImmediately({ clock: systemClock, intervalMs: 100, timeoutMs: 120_000 }, () =>
        existsSync(SOCKET),
      ),
    ]);
    return await Promise.race([ended, runCritest()]);
  } finally {
    runtime.removeAllListeners('exit');
    runtime.kill('SIGTERM');
    stop();
  }
}

function startRuntime(): ChildProcess {
  const log = createWriteStream(join(output, 'runtime.log'));
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      join(root, 'src/cli/main.ts'),
      'runtime',
      '--type',
      'process',
      '--isolation',
      'namespaces',
      '--data-dir',
      '/var/lib/critest',
      '--verbose',
      '--listen',
      `unix://${SOCKET}`,
      ...REGISTRIES.flatMap((host) => [
        '--registry-mirror',
        `${host}=http://127.0.0.1:${PORT}/${host}`,
      ]),
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  return child;
}

function runCritest(): Promise<number> {
  const settings = join('/tmp', 'crictl.yaml');
  writeFileSync(settings, `runtime-endpoint: unix://${SOCKET}\n`);
  const child = spawn(
    critest,
    [
      '-config',
      settings,
      '-runtime-endpoint',
      `unix://${SOCKET}`,
      '-image-endpoint',
      `unix://${SOCKET}`,
      '-ginkgo.junit-report',
      join(output, 'junit.xml'),
      '-ginkgo.seed',
      '1',
      '-ginkgo.no-color',

      ...flags,
    ],
    { cwd: '/tmp', stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

process.exitCode = await main();
