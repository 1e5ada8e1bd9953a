import { describe, expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as fields from '#machinery/selectors/fields.ts';
import { metadataFields, selectableFields } from './selectable-fields.ts';
import { Selection } from './selection.ts';

interface Widget extends KubeObject {
  readonly size?: number;
  readonly node?: string;
}

const widgetFields = selectableFields<Widget>({
  size: ({ size }) => String(size ?? 0),
  node: { value: ({ node }) => node ?? '', indexed: true, oldNames: ['host'] },
});
const widget: Widget = {
  metadata: {
    name: 'w',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  node: 'a',
};

describe('labels in selectors', () => {
  test.each([
    ['size', 'size'],
    ['node', 'node'],
    ['host', 'node'],
    ['metadata.name', 'metadata.name'],
    ['metadata.namespace', 'metadata.namespace'],
  ])('%s means the field %s', (label, name) => {
    expect(widgetFields.resolve(label)).toBe(name);
  });

  test('a label that the kind does not have is a bad request', () => {
    expect(() => widgetFields.resolve('color')).toThrow('field label not supported: color');
    expect(() => widgetFields.resolve('constructor')).toThrow(
      'field label not supported: constructor',
    );
  });

  test('a kind without fields of its own has the common fields', () => {
    const message =
      '"size" is not a known field selector: only "metadata.name", "metadata.namespace"';
    expect(() => metadataFields.resolve('size')).toThrow(message);
  });
});

test('values', () => {
  const values = ['size', 'node', 'metadata.name', 'metadata.namespace', 'toString'].map((name) =>
    widgetFields.valueOf(widget, name),
  );
  expect(values).toEqual(['0', 'a', 'w', 'default', '']);
  expect(widgetFields.indexed).toEqual(['node']);
});

test.each([
  ['node=a', true],
  ['node=b', false],
  ['node!=b', true],
  ['node=a,size=0', true],
  ['node=a,size!=0', false],
  ['metadata.name=w,metadata.namespace=default', true],
])('an object is selected by %s: %s', (text, expected) => {
  const selection = new Selection({ fields: fields.parseSelector(text) });
  expect(selection.matches({ object: () => widget }, widgetFields)).toBe(expected);
});
