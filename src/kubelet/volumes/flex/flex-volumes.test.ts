import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FlexVolumeSource } from '#api/groups/core/v1/index.ts';
import { makePod } from '../../testing/make-pod.ts';
import type { Pod, Secret } from '../../types.ts';
import { noMounter } from '../mounter.ts';
import { escapedName } from './driver.ts';
import { FlexVolumes } from './flex-volumes.ts';

/** Notes its calls, and keeps a file in the place of a file system. */
const DRIVER = `#!/bin/sh
echo "$@" >>"$0.calls"
case $1 in
  init) echo '{"status": "Success", "capabilities": {"attach": false}}' ;;
  mount) echo "$3" >"$2/options"; echo '{"status": "Success"}' ;;
  unmount) rm "$2/options"; echo '{"status": "Success"}' ;;
  *) echo '{"status": "Not supported"}'; exit 1 ;;
esac
`;

let dir: string;
let secrets: Map<string, Secret>;
let volumes: FlexVolumes;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-flex-'));
  secrets = new Map();
  volumes = new FlexVolumes({
    rootDir: dir,
    mounter: noMounter,
    flexVolumeDir: join(dir, 'drivers'),
    secret: (namespace, name) => {
      const found = secrets.get(`${namespace}/${name}`);
      return found === undefined ? Promise.reject(new Error('not found')) : Promise.resolve(found);
    },
  });
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Installs a driver `example.com/NAME`, and returns the file of its calls. */
function install(script: string, name = 'disk'): string {
  const own = join(dir, 'drivers', `example.com~${name}`);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, name), script);
  chmodSync(join(own, name), 0o755);
  return join(own, `${name}.calls`);
}

const pod: Pod = makePod();
const source: FlexVolumeSource = {
  driver: 'example.com/disk',
  fsType: 'ext4',
  options: { id: '7' },
};
const mount = (more: Partial<FlexVolumeSource> = {}, readOnly = false): Promise<string> =>
  volumes.mount(pod, { name: 'data', source: { ...source, ...more }, readOnly });

describe('a FlexVolume', () => {
  test('is mounted by its driver, with the options of upstream and its own', async () => {
    const calls = install(DRIVER);
    const target = await mount({}, true);
    expect(target).toBe(join(dir, 'pods', pod.metadata.uid ?? '', 'volumes/example.com~disk/data'));
    expect(JSON.parse(readFileSync(join(target, 'options'), 'utf8'))).toMatchObject({
      'kubernetes.io/fsType': 'ext4',
      'kubernetes.io/readwrite': 'ro',
      'kubernetes.io/pvOrVolumeName': 'data',
      'kubernetes.io/pod.name': 'web',
      id: '7',
    });
    await volumes.unmount(pod.metadata.uid ?? '');
    expect(existsSync(join(target, 'options'))).toBe(false);
    expect(readFileSync(calls, 'utf8')).toMatch(/^init\nmount \S+ \{.*\}\nunmount \S+\n$/);
  });

  test('gets the values of a secret of its driver only', async () => {
    install(DRIVER);
    const namespace = pod.metadata.namespace ?? '';
    const secret = { metadata: { name: 's' }, data: { key: 'dmFsdWU=' }, type: 'Opaque' };
    secrets.set(`${namespace}/s`, secret as unknown as Secret);
    const secretRef = { name: 's' };
    await expect(mount({ secretRef })).rejects.toThrow(
      'cannot get secret of type example.com/disk',
    );
    secrets.set(`${namespace}/s`, { ...secret, type: source.driver } as unknown as Secret);
    const options = readFileSync(join(await mount({ secretRef }), 'options'), 'utf8');
    expect(JSON.parse(options)).toMatchObject({ 'kubernetes.io/secret/key': 'dmFsdWU=' });
  });

  test('whose driver attaches is refused by name', async () => {
    install('#!/bin/sh\necho \'{"status": "Success"}\'\n');
    await expect(mount()).rejects.toThrow('FlexVolume driver example.com/disk attaches volumes');
  });

  test('without a driver is refused by name', async () => {
    await expect(mount()).rejects.toThrow(
      'no volume plugin matched: no FlexVolume driver example.com/disk',
    );
  });

  test('whose mount fails leaves no directory, and the reason is the driver’s', async () => {
    install(
      DRIVER.replace(
        'echo "$3" >"$2/options"; echo \'{"status": "Success"}\'',
        'echo \'{"status": "Failure", "message": "no such disk"}\'; exit 3',
      ),
    );
    await expect(mount()).rejects.toThrow(
      'mount command failed, status: Failure, reason: no such disk',
    );
    const volume = join(dir, 'pods', pod.metadata.uid ?? '', 'volumes/example.com~disk/data');
    expect(existsSync(volume)).toBe(false);
  });

  test.each([
    [
      'words instead of JSON',
      'echo "out of order"; exit 0',
      'init command failed with exit code 0: out of order',
    ],
    [
      'success, and then an exit code',
      'echo \'{"status": "Success"}\'; exit 4',
      'succeeded, but with exit code 4',
    ],
  ])('whose driver answers with %s is not mounted', async (_, body, message) => {
    install(`#!/bin/sh\n${body}\n`);
    await expect(mount()).rejects.toThrow(message);
  });
});

test.each(['../../bin/sh', 'a/b/c', '..', 'a/..', 'a b', ''])('%j names no driver', (name) => {
  expect(() => escapedName(name)).toThrow('invalid name');
});

test('names with and without a vendor', () => {
  expect([escapedName('disk'), escapedName('example.com/disk')]).toEqual([
    'disk',
    'example.com~disk',
  ]);
});
