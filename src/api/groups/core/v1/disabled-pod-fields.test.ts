import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import { withoutDisabledPodFields, withoutDisabledStatusFields } from './disabled-pod-fields.ts';
import type * as core from './types.ts';

const spec = (text: string): core.PodSpec =>
  manifest<core.Pod>('core/v1.Pod', `metadata: {name: p}\nspec:\n${indent(text)}`).spec;

const status = (text: string): core.PodStatus =>
  manifest<core.Pod>(
    'core/v1.Pod',
    `metadata: {name: p}\nspec: {containers: [{name: c}]}\nstatus:\n${indent(text)}`,
  ).status;

const signal = '{stopSignal: SIGUSR1}';
const hook = 'preStop: {sleep: {seconds: 1}}';
const certificate = '{podCertificate: {signerName: a.b/c, keyType: ED25519, keyPath: k}}';
const bundle = '{clusterTrustBundle: {name: b, path: p}}';

describe('fields of features that are off', () => {
  test.each<[what: string, written: string, kept: string]>([
    [
      'the group',
      'containers: [{name: c}]\nschedulingGroup: {podGroupName: g}',
      'containers: [{name: c}]',
    ],
    ['a stop signal', `containers: [{name: c, lifecycle: ${signal}}]`, 'containers: [{name: c}]'],
    [
      'a stop signal beside a hook',
      `containers: [{name: c, lifecycle: {stopSignal: SIGUSR1, ${hook}}}]`,
      `containers: [{name: c, lifecycle: {${hook}}}]`,
    ],
    [
      'stop signals of other containers',
      `containers: [{name: c}]\ninitContainers: [{name: i, lifecycle: ${signal}}]\n` +
        `ephemeralContainers: [{name: e, lifecycle: ${signal}}]`,
      'containers: [{name: c}]\ninitContainers: [{name: i}]\nephemeralContainers: [{name: e}]',
    ],
    [
      'a trust bundle',
      `containers: [{name: c}]\nvolumes: [{name: v, projected: {sources: [${bundle}, {configMap: {name: m}}]}}]`,
      'containers: [{name: c}]\nvolumes: [{name: v, projected: {sources: [{}, {configMap: {name: m}}]}}]',
    ],
    [
      'a certificate',
      `containers: [{name: c}]\nvolumes: [{name: v, projected: {sources: [${certificate}]}}]`,
      'containers: [{name: c}]\nvolumes: [{name: v, projected: {sources: [{}]}}]',
    ],
  ])('%s: dropped, unless it was there before', (_what, written, kept) => {
    expect(withoutDisabledPodFields(spec(written))).toEqual(spec(kept));
    expect(withoutDisabledPodFields(spec(written), spec(kept))).toEqual(spec(kept));
    const before = spec(written);
    expect(withoutDisabledPodFields(before, spec(written))).toBe(before);
  });

  test('all others are unchanged', () => {
    const other = spec(
      `containers: [{name: c, lifecycle: {${hook}}}]\nvolumes: [{name: v, ` +
        'projected: {sources: [{configMap: {name: m}}]}}]',
    );
    expect(withoutDisabledPodFields(other)).toBe(other);
  });

  test.each<[what: string, written: string, kept: string]>([
    [
      'what claims take of a node',
      'phase: Running\nnodeAllocatableResourceClaimStatuses: [{resourceClaimName: a}]',
      'phase: Running',
    ],
    [
      'what an image is, exactly',
      'containerStatuses: [{name: c, volumeMounts: [{name: v, mountPath: /v, volumeStatus: {image: {imageRef: a}}}]}]',
      'containerStatuses: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}]',
    ],
  ])('%s: dropped from a status, unless it was there before', (_what, written, kept) => {
    expect(withoutDisabledStatusFields(status(written), status(''))).toEqual(status(kept));
    const before = status(written);
    expect(withoutDisabledStatusFields(before, status(written))).toBe(before);
    const other = status(kept);
    expect(withoutDisabledStatusFields(other, status(''))).toBe(other);
  });
});
