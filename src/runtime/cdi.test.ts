import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordingLogger } from '#machinery/log.ts';
import { withCdiDevices } from './cdi.ts';

let first: string;
let second: string;
beforeEach(() => {
  first = mkdtempSync(join(tmpdir(), 'cdi-'));
  second = mkdtempSync(join(tmpdir(), 'cdi-'));
});
afterEach(() => {
  for (const dir of [first, second]) rmSync(dir, { recursive: true, force: true });
});

const apply = (names: readonly string[], logger = recordingLogger()) =>
  withCdiDevices(
    { envs: [{ key: 'A', value: Buffer.from('1') }], CDIDevices: names.map((name) => ({ name })) },
    { directories: [first, join(first, 'missing'), second], reason: 'a test', logger },
  );

const gpu = (name: string, containerEdits: object) => ({ name, containerEdits });

test('adds the edits of the device and of its specification, once', async () => {
  writeFileSync(
    join(first, 'gpu.yaml'),
    `kind: example.com/gpu
containerEdits:
  env: [DRIVER=gpu]
devices:
  - name: a
    containerEdits:
      env: ["GPU=a=b"]
      deviceNodes: [{path: /dev/null}]
      mounts: [{hostPath: /opt, containerPath: /lib/gpu, options: [ro]}]
  - name: b
    containerEdits: {env: [OTHER=b]}
`,
  );
  const config = await apply(['example.com/gpu=a', 'example.com/gpu=b']);
  expect(
    config.envs?.map(({ key, value }) => `${key}=${Buffer.from(value ?? []).toString()}`),
  ).toEqual(['A=1', 'DRIVER=gpu', 'GPU=a=b', 'OTHER=b']);
  expect(config.devices).toEqual([
    { containerPath: '/dev/null', hostPath: '/dev/null', permissions: 'rw' },
  ]);
  expect(config.mounts).toEqual([{ hostPath: '/opt', containerPath: '/lib/gpu', readonly: true }]);
});

test('the later directory wins, and damaged files are left out', async () => {
  const write = (dir: string, value: string): void =>
    writeFileSync(
      join(dir, 'gpu.json'),
      JSON.stringify({ kind: 'x.io/gpu', devices: [gpu('a', { env: [`GPU=${value}`] })] }),
    );
  write(first, 'first');
  write(second, 'second');
  writeFileSync(join(first, 'bad.json'), '{"kind":');
  writeFileSync(join(first, 'empty.yaml'), '');
  const logger = recordingLogger();
  const config = await apply(['x.io/gpu=a'], logger);
  expect(Buffer.from(config.envs?.at(-1)?.value ?? []).toString()).toBe('second');
  expect(logger.records).toHaveLength(2);
});

test('unknown devices and impossible edits are rejected by name', async () => {
  const hooks = { hooks: [{ hookName: 'createContainer', path: '/bin/true' }] };
  writeFileSync(
    join(first, 'gpu.json'),
    JSON.stringify({ kind: 'x.io/gpu', devices: [gpu('a', hooks)] }),
  );
  await expect(apply(['x.io/gpu=b', 'no such'])).rejects.toThrow(
    'unresolvable CDI devices x.io/gpu=b, no such',
  );
  await expect(apply(['x.io/gpu=a'])).rejects.toThrow(
    'a test: CDI edits of hooks are not possible',
  );
});
