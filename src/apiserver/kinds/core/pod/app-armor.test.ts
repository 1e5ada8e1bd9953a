// The old AppArmor annotation of a container is converted to the field.

import { expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { withAppArmorFields } from './app-armor.ts';

const KEY = 'container.apparmor.security.beta.kubernetes.io/c';
const WARNING = `metadata.annotations[${KEY}]: deprecated since v1.30; use the "appArmorProfile" field instead`;

const pod = (annotation: string, spec = ''): core.Pod => {
  const annotations = annotation === '-' ? '' : `, annotations: {${KEY}: ${annotation}}`;
  return manifest(
    'core/v1.Pod',
    `metadata: {name: p${annotations}}\nspec:\n${indent(CONTAINERS(spec))}`,
  );
};
const CONTAINERS = (spec: string): string =>
  spec.includes('containers:') ? spec : `containers: [{name: c, image: x}]\n${spec}`;

test.each<[what: string, annotation: string, spec: string, profile: unknown, warnings: string[]]>([
  ['none', '-', '', undefined, []],
  ['the default', 'runtime/default', '', { type: 'RuntimeDefault' }, [WARNING]],
  ['nothing', 'unconfined', '', { type: 'Unconfined' }, [WARNING]],
  ['a file', 'localhost/a', '', { type: 'Localhost', localhostProfile: 'a' }, [WARNING]],
  ['no file', 'localhost/', '', undefined, [WARNING]],
  ['a file with white space', '"localhost/a "', '', undefined, [WARNING]],
  ['something', 'other', '', undefined, [WARNING]],
  ['on windows', 'unconfined', 'os: {name: windows}', undefined, []],
  [
    'as the pod',
    'unconfined',
    'securityContext: {appArmorProfile: {type: Unconfined}}',
    undefined,
    [],
  ],
  [
    'other than the pod',
    'unconfined',
    'securityContext: {appArmorProfile: {type: RuntimeDefault}}',
    { type: 'Unconfined' },
    [WARNING],
  ],
  [
    'said twice',
    'unconfined',
    'containers: [{name: c, image: x, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]',
    { type: 'RuntimeDefault' },
    [],
  ],
  ['of another container', 'unconfined', 'containers: [{name: d, image: x}]', undefined, []],
])('%s', (_, annotation, spec, profile, warnings) => {
  const received: string[] = [];
  const oldPod = pod(annotation, spec);
  const before = structuredClone(oldPod);
  const converted = withAppArmorFields(oldPod, (text) => received.push(text));
  expect(converted.spec.containers[0]?.securityContext?.appArmorProfile).toEqual(profile);
  expect(received).toEqual(warnings);
  expect(oldPod).toEqual(before);
});
