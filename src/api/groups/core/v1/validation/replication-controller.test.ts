// Further valid and invalid replication controllers, with the paths and types of the errors.
// kinds.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import { manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validateReplicaCounts, validateReplicationController } from './index.ts';

const controller = (spec: string): core.ReplicationController =>
  manifest('core/v1.ReplicationController', `metadata: {name: rc}\nspec: {${spec}}`);

const template = (more = '', metadata = 'labels: {a: b}'): string =>
  `template: {metadata: {${metadata}}, spec: {containers: [{name: c, image: x}]${more}}}`;

describe('controllers', () => {
  const SELECTED = 'selector: {a: b}';
  test.each<[what: string, spec: string, ...errors: string[]]>([
    ['one', `${SELECTED}, replicas: 1, ${template()}`],
    ['one that is ready after a while', `${SELECTED}, minReadySeconds: 5, ${template()}`],
    ['none', `${SELECTED}, replicas: 0, ${template()}`],
    ['more labels than it selects', `${SELECTED}, ${template('', 'labels: {a: b, c: d}')}`],
    ['on the network of the host', `${SELECTED}, ${template(', hostNetwork: true')}`],
    ['without a selector or labels', template('', ''), 'spec.selector Required'],
    [
      'pods that it does not select',
      `selector: {foo: bar}, ${template()}`,
      'spec.template.metadata.labels Invalid',
    ],
    [
      'pods without labels',
      `${SELECTED}, ${template('', '')}`,
      'spec.template.metadata.labels Invalid',
    ],
    ['less than none', `${SELECTED}, replicas: -1, ${template()}`, 'spec.replicas Invalid'],
    [
      'ready before it is there',
      `${SELECTED}, minReadySeconds: -1, ${template()}`,
      'spec.minReadySeconds Invalid',
    ],
    ['without a template', SELECTED, 'spec.template Required'],
    [
      'pods of bad labels',
      `selector: {"no/up/case": b}, ${template('', 'labels: {"no/up/case": b}')}`,
      'spec.template.labels Invalid',
    ],
    [
      'pods of a bad annotation',
      `${SELECTED}, ${template('', 'labels: {a: b}, annotations: {"a b": c}')}`,
      'spec.template.annotations Invalid',
    ],
    [
      'pods that end',
      `${SELECTED}, ${template(', restartPolicy: Never')}`,
      'spec.template.spec.restartPolicy NotSupported',
    ],
    [
      'pods that may end',
      `${SELECTED}, ${template(', restartPolicy: OnFailure')}`,
      'spec.template.spec.restartPolicy NotSupported',
    ],
    [
      'pods of a moment',
      `${SELECTED}, ${template(', activeDeadlineSeconds: 1')}`,
      'spec.template.spec.activeDeadlineSeconds Forbidden',
    ],
    [
      'pods that are watched',
      `${SELECTED}, ${template(', ephemeralContainers: [{name: debug, image: x}]')}`,
      'spec.template.spec.ephemeralContainers Forbidden',
    ],
    [
      'pods of no container',
      `${SELECTED}, template: {metadata: {labels: {a: b}}, spec: {}}`,
      'spec.template.spec.containers Required',
    ],
    [
      'a bad pod',
      `${SELECTED}, ${template(', dnsPolicy: Never')}`,
      'spec.template.spec.dnsPolicy NotSupported',
    ],
    [
      'a disk that is written in many places',
      `${SELECTED}, replicas: 2, ${template(', volumes: [{name: v, gcePersistentDisk: {pdName: d}}]')}`,
    ],
  ])('%s', (_what, spec, ...errors) => {
    const found = validateReplicationController(controller(spec));
    expect(found.map(({ field, type }) => `${field} ${type.replace('FieldValue', '')}`)).toEqual(
      errors,
    );
  });
});

describe('counts', () => {
  type Counts = [
    replicas: number,
    labeled: number,
    ready: number,
    available: number,
    observed: number,
  ];
  test.each<[what: string, counts: Counts, ...errors: string[]]>([
    ['all there', [3, 2, 2, 1, 2]],
    ['none', [0, 0, 0, 0, 0]],
    [
      'less than none',
      [-1, 0, 0, 0, 2],
      'replicas',
      'fullyLabeledReplicas',
      'readyReplicas',
      'availableReplicas',
    ],
    ['labelled less than none', [3, -1, 0, 0, 2], 'fullyLabeledReplicas'],
    ['ready less than none', [3, 0, -1, -2, 2], 'readyReplicas', 'availableReplicas'],
    [
      'ready less than none, and fewer than available',
      [3, 0, -1, 0, 2],
      'readyReplicas',
      'availableReplicas',
    ],
    ['available less than none', [3, 0, 0, -1, 2], 'availableReplicas'],
    ['seen before there was one', [3, 0, 0, 0, -1], 'observedGeneration'],
    ['more labelled than there', [3, 4, 0, 0, 2], 'fullyLabeledReplicas'],
    ['more ready than there', [3, 0, 4, 0, 2], 'readyReplicas'],
    ['more available than there', [3, 0, 4, 4, 2], 'readyReplicas', 'availableReplicas'],
    ['more available than ready', [3, 0, 1, 2, 2], 'availableReplicas'],
  ])(
    '%s',
    (
      _what,
      [replicas, fullyLabeledReplicas, readyReplicas, availableReplicas, observedGeneration],
      ...errors
    ) => {
      const status = {
        replicas,
        fullyLabeledReplicas,
        readyReplicas,
        availableReplicas,
        observedGeneration,
      };
      expect(
        validateReplicaCounts(status).map(({ field }) => field.replace('status.', '')),
      ).toEqual(errors);
    },
  );
});
