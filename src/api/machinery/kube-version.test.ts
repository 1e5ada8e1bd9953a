import { expect, test } from 'vitest';

import { compareKubeVersions } from './kube-version.ts';

test('the order of the documentation', () => {
  const documented = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ];
  expect(documented.toReversed().sort(compareKubeVersions)).toEqual(documented);
  expect(documented.toSorted().sort(compareKubeVersions)).toEqual(documented);
});

test('versions of another form come last', () => {
  const wanted = ['v1alpha1', 'v0', 'v01', 'v1beta', 'v1gamma1'];
  expect(wanted.toReversed().sort(compareKubeVersions)).toEqual(wanted);
});

test('equal versions are equal', () => {
  for (const version of ['v1', 'v1beta1', 'other'])
    expect(compareKubeVersions(version, version)).toBe(0);
});
