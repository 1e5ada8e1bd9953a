// The commands of the Dockerfile, without a container: as an unprivileged user, with the flags that
// the image has.

import { spawn } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { connect } from '#client/connect.ts';
import { coxArgs, eventually, run, temporaryDir, writeManifest } from './harness.ts';

const dockerfile = readFileSync(resolve(import.meta.dirname, '../../Dockerfile'), 'utf8');
/** The last list of an instruction. */
const listOf = (instruction: RegExp): string[] =>
  JSON.parse(instruction.exec(dockerfile)?.[1] ?? '[]') as string[];
const PORT = 16_443;
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** Reports whether any user may enter a directory and all above it. */
function isOpenToAll(directory: string): boolean {
  const parent = dirname(directory);
  return (
    (statSync(directory).mode & 0o005) === 0o005 && (parent === directory || isOpenToAll(parent))
  );
}
/** The program is started as another user, who has to be able to read it, and Node. */
const readable =
  !isRoot || [import.meta.dirname, dirname(process.execPath)].every((path) => isOpenToAll(path));

let dir: ReturnType<typeof temporaryDir>;
beforeAll(() => {
  dir = temporaryDir();
});
afterAll(() => {
  dir.remove();
});

const title = 'the image starts a cluster without root, and is healthy when it is ready';
test.skipIf(!readable)(`${title} (needs a checkout that every user may read)`, async () => {
  const command = listOf(/^CMD (\[.*\])$/m);
  const health = listOf(/^HEALTHCHECK .*CMD (\[.*\])$/m);
  expect([command[0], health[0]]).toEqual(['up', 'node']);
  const isHealthy = async (): Promise<boolean> => {
    const args = health.slice(1).map((part) => part.replace(':6443', `:${PORT}`));
    return (await run(process.execPath, args)).status === 0;
  };
  expect(await isHealthy()).toBe(false);
  const args = command.map((part) => (part === '/data' ? dir.path : part));
  if (isRoot) {
    chmodSync(dir.path, 0o700);
    chownSync(dir.path, NOBODY, NOBODY);
  }
  const child = spawn(
    process.execPath,
    [...coxArgs, ...args, '--secure-port', String(PORT), '--store', 'memory'],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      cwd: dir.path,
      env: { ...process.env, HOME: dir.path },
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
    },
  );
  const exited = new Promise<number | null>((done) => child.once('exit', done));
  try {
    await eventually('healthy', isHealthy);
    // A test outside of the container replaces the address of the server.
    const kubeconfig = readFileSync(join(dir.path, 'kubeconfig'), 'utf8');
    const outside = kubeconfig.replace(/server: .*/, `server: https://localhost:${PORT}`);
    const { client, close } = await connect({
      kubeconfig: writeManifest(dir.path, 'outside', outside),
    });
    expect((await client.resource(nodes).list()).items).toHaveLength(1);
    close();
  } finally {
    child.kill('SIGTERM');
  }
  expect(await exited).toBe(0);
});
