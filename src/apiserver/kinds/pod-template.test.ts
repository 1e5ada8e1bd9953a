import { expect, test } from 'vitest';
import { withEnabledTemplateFields } from './pod-template.ts';

const metadata = { name: '', uid: '', resourceVersion: '', creationTimestamp: '' };
const container = { name: 'c', image: 'i', resources: {} };
const from = (lifecycle?: { stopSignal: 'SIGUSR1' }) => ({
  spec: {
    template: {
      metadata,
      spec: { containers: [{ ...container, ...(lifecycle !== undefined && { lifecycle }) }] },
    },
  },
});

test('fields of disabled features are dropped from a template, unless they are already stored', () => {
  const written = from({ stopSignal: 'SIGUSR1' });
  expect(withEnabledTemplateFields(written)).toEqual(from());
  expect(withEnabledTemplateFields(written, from())).toEqual(from());
  expect(withEnabledTemplateFields(written, written)).toBe(written);
  const plain = from();
  expect(withEnabledTemplateFields(plain)).toBe(plain);
  const none: { spec: { template?: undefined } } = { spec: {} };
  expect(withEnabledTemplateFields(none)).toBe(none);
});
