import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLocalDevice, localVolumeKind } from './local-volumes.ts';

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cox-local-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/** A block device of this machine, if it has one. */
const device = readdirSync('/dev')
  .map((name) => join('/dev', name))
  .find((path) => statSync(path, { throwIfNoEntry: false })?.isBlockDevice() === true);

test('a block volume is a block device', async () => {
  await expect(checkLocalDevice(dir)).rejects.toThrow(`path "${dir}" is not a block device`);
  await expect(checkLocalDevice(join(dir, 'x'))).rejects.toThrow('does not exist');
  await expect(checkLocalDevice(`${dir}/../y`)).rejects.toThrow("must not contain '..'");
});

test.skipIf(device === undefined)('… or a link to one (skipped without a device)', async () => {
  const link = join(dir, 'link');
  symlinkSync(device ?? '', link);
  await expect(checkLocalDevice(link)).resolves.toBeUndefined();
  expect(await localVolumeKind(link, join(dir, 'own'))).toBe('device');
});

test('a volume with files is a directory or a block device', async () => {
  expect(await localVolumeKind(dir, join(dir, 'own'))).toBe('directory');
  writeFileSync(join(dir, 'file'), '');
  await expect(localVolumeKind(join(dir, 'file'), join(dir, 'own'))).rejects.toThrow(
    'only directory and block device are supported',
  );
});
