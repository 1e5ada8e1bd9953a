import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkLocalDevice, checkLocalVolume } from './local-volumes.ts';

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
  await expect(checkLocalVolume(link, join(dir, 'own'))).rejects.toThrow('is not a directory');
});
