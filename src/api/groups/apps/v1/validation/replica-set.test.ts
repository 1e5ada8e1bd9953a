// Errors of replica sets, with upstream's messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest, messages } from '#api/testing/manifest.ts';
import type { ReplicaSet } from '../types.ts';
import { validateReplicaSet, validateReplicaSetUpdate } from './index.ts';

const replicaSet = (spec: string): ReplicaSet =>
  manifest('apps/v1.ReplicaSet', `metadata: {name: r}\nspec:\n${indent(spec)}`);

const TEMPLATE =
  'template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}';
const SELECTOR = 'selector: {matchLabels: {a: b}}';

describe('replica sets', () => {
  test.each<[what: string, spec: string, errors: string[]]>([
    ['a good one', `${SELECTOR}\n${TEMPLATE}`, []],
    ['no replicas at all', `replicas: 0\n${SELECTOR}\n${TEMPLATE}`, []],
    [
      'negative replicas',
      `replicas: -1\n${SELECTOR}\n${TEMPLATE}`,
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'negative seconds until available',
      `minReadySeconds: -1\n${SELECTOR}\n${TEMPLATE}`,
      ['spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'a selector that does not match the template',
      `selector: {matchLabels: {a: c}}\n${TEMPLATE}`,
      [
        'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'an empty selector',
      `selector: {}\n${TEMPLATE}`,
      ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
    ],
    [
      'an operator that there is not',
      `selector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}\n${TEMPLATE}`,
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
        'spec.selector: Invalid value: ' +
          '{"matchExpressions":[{"key":"a","operator":"Like","values":["b"]}]}: invalid ' +
          'label selector',
      ],
    ],
    [
      'pods that end',
      `${SELECTOR}\ntemplate: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, ` +
        'containers: [{name: c, image: x}]}}',
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'pods with a deadline',
      `${SELECTOR}\ntemplate: {metadata: {labels: {a: b}}, ` +
        'spec: {activeDeadlineSeconds: 5, containers: [{name: c, image: x}]}}',
      [
        'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported',
      ],
    ],
    [
      'a template that is no good pod',
      `${SELECTOR}\ntemplate: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}`,
      ['spec.template.spec.containers[0].image: Required value'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validateReplicaSet(replicaSet(spec)))).toEqual(errors);
  });
});

describe('changes of replica sets', () => {
  const old = replicaSet(`${SELECTOR}\n${TEMPLATE}`);
  test.each<[what: string, spec: string, errors: string[]]>([
    ['nothing', `${SELECTOR}\n${TEMPLATE}`, []],
    [
      'replicas and template',
      `replicas: 5\n${SELECTOR}\n${TEMPLATE.replace('image: x', 'image: z')}`,
      [],
    ],
    [
      'the selector, with its template',
      `selector: {matchLabels: {a: c}}\n${TEMPLATE.replace('a: b', 'a: c')}`,
      ['spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable'],
    ],
    [
      'something wrong',
      `replicas: -1\n${SELECTOR}\n${TEMPLATE}`,
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
  ])('%s', (_, spec, errors) => {
    expect(messages(validateReplicaSetUpdate(replicaSet(spec), old))).toEqual(errors);
  });
});
