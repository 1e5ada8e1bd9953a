// Types from schemas and descriptions, and values read with them.
import { describe, expect, test } from 'vitest';
import { Environment } from './environment.ts';
import { typeOfMessage, type DescribedMessage } from './descriptor-types.ts';
import { kubernetesLibraries } from './library/index.ts';
import { escapeName, typeOfSchema, type Schema } from './schema-types.ts';
import { formatType, type Type } from './types.ts';

function evaluate(source: string, type: Type, self: unknown): unknown {
  const { program, error } = new Environment({
    variables: { self: type },
    libraries: kubernetesLibraries,
  }).compile(source);
  if (program === undefined) return error.message;
  const result = program.evaluate({ self });
  return result.error?.message ?? result.value;
}

describe('schemas', () => {
  const schema: Schema = {
    type: 'object',
    required: ['replicas'],
    properties: {
      replicas: { type: 'integer' },
      ratio: { type: 'number' },
      paused: { type: 'boolean' },
      port: { 'x-kubernetes-int-or-string': true },
      until: { type: 'string', format: 'date-time' },
      day: { type: 'string', format: 'date-time' },
      wait: { type: 'string', format: 'duration' },
      data: { type: 'string', format: 'byte' },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      'x-y.z/a': { type: 'string' },
      namespace: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      ports: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['port'],
        items: {
          type: 'object',
          properties: { port: { type: 'integer' }, name: { type: 'string' } },
        },
      },
      hidden: {},
      template: { type: 'object', 'x-kubernetes-embedded-resource': true },
    },
  };
  const type = typeOfSchema(schema, 'Self')!;
  const self = {
    replicas: 3,
    ratio: 1,
    port: '80%',
    until: '2026-01-02T03:04:05Z',
    wait: '1h',
    data: 'aGk=',
    labels: { a: 'b' },
    'x-y.z/a': 'odd',
    namespace: 'here',
    tags: ['a', 'b'],
    ports: [
      { port: 80, name: 'http' },
      { port: 443, name: 'https' },
    ],
    template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
  };

  test.each([
    'self.replicas == 3 && self.ratio == 1.0 && !has(self.paused)',
    'type(self.port) == string && type(self.port) != int',
    'self.until.getFullYear() == 2026 && self.wait == duration("60m") && self.data == b"hi"',
    'self.labels.all(k, self.labels[k] == "b") && self.labels.a == "b"',
    'self.x__dash__y__dot__z__slash__a == "odd" && self.__namespace__ == "here"',
    'self.tags == ["b", "a"] && self.tags != ["a", "c"] && (self.tags + ["b", "c"]).size() == 3',
    '(self.tags + ["c"]) == ["c", "b", "a"]',
    'self.ports + self.ports == self.ports && self.ports.exists(p, p.name == "https")',
    'self.template.kind == "Pod" && self.template.metadata.name == "p"',
    'self == self',
  ])('%s', (source) => {
    expect(evaluate(source, type, self)).toBe(true);
  });

  test('parts without a type are invisible', () => {
    expect(evaluate('self.hidden', type, self)).toContain("undefined field 'hidden'");
    expect(evaluate('self.template.spec', type, self)).toContain("undefined field 'spec'");
    expect(evaluate('self.replicas == "3"', type, self)).toContain("applied to '(int, string)'");
    expect(typeOfSchema({}, 'Self')).toBeUndefined();
    expect(typeOfSchema({ type: 'array' }, 'Self')).toBeUndefined();
    expect(
      evaluate(
        'self.metadata.name + self.kind',
        typeOfSchema({ type: 'object' }, 'Self', true)!,
        self.template,
      ),
    ).toBe('pPod');
  });

  test('names are escaped as in Kubernetes', () => {
    expect(['a', 'a_b', 'a__b', 'in', 'a-b', '1a', 'ä'].map(escapeName)).toEqual([
      'a',
      'a_b',
      'a__underscores__b',
      '__in__',
      'a__dash__b',
      undefined,
      undefined,
    ]);
  });
});

test('descriptions of messages', () => {
  const meta: DescribedMessage = {
    name: 'ObjectMeta',
    fields: [
      { name: 'name', type: { kind: 'scalar', scalar: 'string' } },
      { name: 'creationTimestamp', type: { kind: 'scalar', scalar: 'time' } },
      { name: 'labels', type: { kind: 'map', values: { kind: 'scalar', scalar: 'string' } } },
    ],
  };
  const props: {
    name: string;
    fields: { name: string; type: DescribedMessage['fields'][number]['type'] }[];
  } = {
    name: 'Props',
    fields: [],
  };
  props.fields.push(
    { name: 'not', type: { kind: 'message', message: props } },
    { name: 'minimum', type: { kind: 'scalar', scalar: 'double' } },
    { name: 'metadata', type: { kind: 'message', message: meta } },
    { name: 'list', type: { kind: 'list', items: { kind: 'message', message: meta } } },
    { name: 'port', type: { kind: 'scalar', scalar: 'intOrString' } },
  );
  const type = typeOfMessage(props);
  const self = {
    not: { not: { minimum: 2 } },
    metadata: { name: 'a', creationTimestamp: '2026-01-02T03:04:05Z' },
    list: [{ name: 'b' }],
    port: 8,
  };
  expect(
    evaluate(
      'self.not.not.minimum == 2.0 && self.list[0].name == "b" && self.port == 8',
      type,
      self,
    ),
  ).toBe(true);
  expect(
    evaluate(
      'self.metadata.creationTimestamp.getMonth() == 0 && !has(self.metadata.labels)',
      type,
      self,
    ),
  ).toBe(true);
  expect(evaluate('self.not.nothing', type, self)).toContain("undefined field 'nothing'");
  expect(formatType(type)).toBe('Props');
});
