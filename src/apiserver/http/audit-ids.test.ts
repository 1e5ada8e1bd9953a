import { expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { AuditIds } from './audit-ids.ts';

test('each one is a different UUID', () => {
  const ids = new AuditIds(new SeededRandom(1));
  const created = Array.from({ length: 10_000 }, () => ids.next());
  expect(new Set(created).size).toBe(created.length);
  for (const id of created)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
