// Many definitions that wait for their objects to be served: the work for them grows linearly with
// their number.

import { expect, test, vi } from 'vitest';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { Catalog } from '../../catalog/catalog.ts';
import { widgetType } from '../../testing/widgets.ts';
import { DefinitionConditions } from './controller.ts';
import type { Definition } from './definition.ts';

const NUMBER = 60;

/** Returns a definition with accepted names that is not established. */
function waitingDefinition(index: number): Definition {
  const names = {
    plural: `widgets${index}s`,
    singular: `widget${index}`,
    kind: `Widget${index}`,
    listKind: `Widget${index}List`,
  };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object' } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names.plural}.example.com`,
      uid: `uid-${index}`,
      resourceVersion: `${index + 1}`,
      generation: 1,
    },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: [version],
      conversion: { strategy: 'None' },
    },
    status: {
      acceptedNames: names,
      storedVersions: ['v1'],
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
      ],
    },
  } as unknown as Definition;
}

test('each definition is read twice at most, however many others become served', async () => {
  const definitions = new Map(
    Array.from({ length: NUMBER }, (_, index) => [
      `widgets${index}s.example.com`,
      waitingDefinition(index),
    ]),
  );
  const served = new Set<string>();
  const established = new Set<string>();
  let reads = 0;
  const catalog = new Catalog();
  const updateStatus = (definition: Definition): Promise<Definition> => {
    const { name } = definition.metadata;
    if (
      definition.status.conditions?.some(
        ({ type, status }) => type === 'Established' && status === 'True',
      )
    )
      established.add(name);
    definitions.set(name, {
      ...definition,
      metadata: { ...definition.metadata, resourceVersion: `${1000 + established.size}` },
    });
    return Promise.resolve(definitions.get(name)!);
  };
  const resource = (type: unknown): object =>
    type === customResourceDefinitions ? { updateStatus } : {};
  const conditions = new DefinitionConditions({
    catalog,
    clock: systemClock,
    logger: silentLogger,
    client: { resource } as unknown as Client,
    find: <T>(_group: string, _resource: string, _namespace: string, name: string) => {
      reads++;
      return definitions.get(name) as T | undefined;
    },
    isServed: ({ metadata }) => served.has(metadata.name),
    sharesStorage: false,
    hasOtherServers: () => Promise.resolve(false),
  });
  for (const definition of definitions.values()) conditions.set(definition);
  const end = new AbortController();
  const running = conditions.run(end.signal);
  try {
    await vi.waitFor(() => expect(reads).toBeGreaterThanOrEqual(NUMBER), { timeout: 60_000 });
    for (const [index, name] of [...definitions.keys()].entries()) {
      served.add(name);
      catalog.install([{ type: widgetType('v1', 'example.com', `widgets${index}s`), rest: {} }]);
      await vi.waitFor(() => expect(established).toContain(name), { interval: 1, timeout: 60_000 });
    }
    expect(reads).toBeLessThanOrEqual(2 * NUMBER);
  } finally {
    end.abort();
    await running;
  }
});
