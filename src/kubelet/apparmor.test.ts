import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { admitAppArmor } from './apparmor.ts';
import { isAppArmorEnabled } from './node/apparmor-enabled.ts';
import { makeContainer, makePod } from './testing/make-pod.ts';
import type { Pod } from './types.ts';

const REJECTION = {
  reason: 'AppArmor',
  message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
};
const profile = (type: 'RuntimeDefault' | 'Localhost' | 'Unconfined') => ({
  securityContext: { appArmorProfile: { type } },
});
const annotated = (value: string): Pod =>
  makePod({
    metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/main': value } },
  });

test.each([
  ['no profile', makePod(), undefined],
  ['no confinement', makePod({ spec: profile('Unconfined') }), undefined],
  ['a profile of the pod', makePod({ spec: profile('RuntimeDefault') }), REJECTION],
  [
    'a profile of a container',
    makePod({ spec: { containers: [makeContainer('main', profile('Localhost'))] } }),
    REJECTION,
  ],
  ['an annotation', annotated('runtime/default'), REJECTION],
  ['an annotation of no confinement', annotated('unconfined'), undefined],
  [
    'a profile of a pod that runs',
    makePod({ spec: profile('RuntimeDefault'), status: { phase: 'Running' } }),
    undefined,
  ],
])('without AppArmor in the kernel: %s', (_, pod, expected) => {
  expect(admitAppArmor(pod, false)).toEqual(expected);
  expect(admitAppArmor(pod, true)).toBeUndefined();
});

test('the kernel tells by a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'apparmor-'));
  const file = join(directory, 'enabled');
  expect(await isAppArmorEnabled(file)).toBe(false);
  await writeFile(file, 'N\n');
  expect(await isAppArmorEnabled(file)).toBe(false);
  await writeFile(file, 'Y\n');
  expect(await isAppArmorEnabled(file)).toBe(true);
  await rm(directory, { recursive: true });
});
