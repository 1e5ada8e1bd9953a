// Two servers on one storage: definitions are established once, and names are accepted once.

import { expect, test } from 'vitest';

import {
  type CustomResourceDefinition,
  customResourceDefinitions,
} from '#api/groups/apiextensions/v1/index.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';

test('a definition is served by both servers once it is established, and deleted at both', async () => {
  const first = await startTestServer({ clock: systemClock, sharesStorage: true });
  const second = await startTestServer({
    clock: systemClock,
    sharesStorage: true,
    storage: first.storage,
  });
  try {
    const { status } = await define(first.client, definitionOf());
    expect(status.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['NamesAccepted', 'NoConflicts'],
      ['Established', 'InitialNamesAccepted'],
    ]);
    const path = '/apis/example.com/v1/widgets';
    expect((await send(second.server, { path })).code).toBe(200);

    const other = definitionOf([definitionVersion()], { plural: 'wizards', kind: 'Widget' });
    const definitions = second.client.resource<CustomResourceDefinition>(customResourceDefinitions);
    await definitions.create(other);
    for await (const { object } of await definitions.watch({
      fieldSelector: 'metadata.name=wizards.example.com',
    })) {
      const condition = object.status.conditions?.find(({ type }) => type === 'NamesAccepted');
      if (condition === undefined) continue;
      expect(condition).toMatchObject({ status: 'False', reason: 'ListKindConflict' });
      break;
    }

    await definitions.delete('widgets.example.com');
    for await (const { type } of await definitions.watch({
      fieldSelector: 'metadata.name=widgets.example.com',
    })) {
      if (type === 'DELETED') break;
    }
    expect([...first.logger.errors, ...second.logger.errors]).toEqual([]);
  } finally {
    await second.server.stop();
    await first.stop();
  }
});
