import { describe, expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { describeField, descriptions, describeType } from './index.ts';

describe('descriptions', () => {
  test('belong to existing types and fields', () => {
    for (const [key, { fields = {} }] of Object.entries(descriptions)) {
      const message = allSchemas.message(key);
      for (const field of Object.keys(fields))
        expect(message.byName.has(field), `${key}.${field}`).toBe(true);
    }
  });

  test('exist for every type and field', () => {
    const missing: string[] = [];
    for (const schema of allSchemas.schemas) {
      for (const [name, spec] of Object.entries(schema.types)) {
        if (!('fields' in spec)) continue;
        const key = `${schema.key}.${name}`;
        const message = allSchemas.message(key);
        if (describeType(key) === undefined) missing.push(key);
        for (const field of message.fields) {
          if (describeField(key, field.name, message.gvk !== undefined) === undefined)
            missing.push(`${key}.${field.name}`);
        }
      }
    }
    expect(missing).toEqual([]);
  });

  test('refer to existing types, without a cycle', () => {
    for (const [key, { like }] of Object.entries(descriptions)) {
      const seen = new Set([key]);
      for (let next = like; next !== undefined; next = descriptions[next]?.like) {
        expect(Object.keys(descriptions), key).toContain(next);
        expect(seen.has(next), `${key} is like itself`).toBe(false);
        seen.add(next);
      }
    }
  });

  test('distinguish the metadata of lists from that of objects', () => {
    expect(describeField('core/v1.PodList', 'metadata', true)).toMatch(
      /version that the list was read at/,
    );
    expect(describeField('core/v1.Pod', 'metadata', true)).toMatch(/name, namespace, labels/);
  });

  test('have the words that upstream’s tests of explain look for', () => {
    expect(describeField('core/v1.Pod', 'metadata', true)).toContain("Standard object's metadata");
    expect(describeField('core/v1.Pod', 'apiVersion', true)).toContain('APIVersion defines');
    expect(descriptions['meta/v1.ObjectMeta']?.fields?.['creationTimestamp']).toContain(
      'CreationTimestamp is a timestamp',
    );
    expect(describeField('core/v1.ServiceList', 'items', true)).toContain('List of services');
  });

  test('are sentences', () => {
    for (const [key, { type, fields = {} }] of Object.entries(descriptions)) {
      for (const text of [type, ...Object.values(fields)])
        expect(text, key).toMatch(/^[A-Za-z/$0-9].*\.$/);
    }
  });
});
