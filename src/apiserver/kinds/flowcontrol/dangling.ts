// The condition Dangling of flow schemas: the priority level of the schema does not exist. The
// server itself writes the condition after every write that may change it, before it responds to
// that write.

import { DescriptorCodec } from '#api/machinery/codec/descriptor-codec.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import { FieldManager } from '#api/machinery/managed-fields/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import { findEvery, findOne, internalContext } from '#apiserver/catalog/internal-client.ts';
import type { KindDefinition } from '#apiserver/catalog/define-kind.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import { plainRest } from '#apiserver/registry/plain-rest.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import { formatTime } from '#machinery/text/time.ts';
import { flowSchemaKind } from './flow-schema.ts';
import { priorityLevelConfigurationKind } from './priority-level-configuration.ts';

type FlowSchema = Immutable<flowcontrol.FlowSchema>;

const GROUP = 'flowcontrol.apiserver.k8s.io';
const MANAGER = 'api-priority-and-fairness-config-consumer-v1';
const CODEC = new DescriptorCodec({
  kind: { group: GROUP, version: 'v1', kind: 'FlowSchema' },
  message: allSchemas.message('flowcontrol/v1.FlowSchema'),
});

/**
 * The kinds of flow schemas and priority levels. A write of one may change the condition of the
 * other.
 */
export const flowControlKinds: KindDefinition = {
  types: [...flowSchemaKind.types, ...priorityLevelConfigurationKind.types],
  build: (services) => {
    const [schemas] = flowSchemaKind.build(services);
    const [levels] = priorityLevelConfigurationKind.build(services);
    return keepDangling(schemas!, levels!, services);
  },
};

/** Returns the same kinds, with writes that update the condition. */
function keepDangling(
  schemas: Kind,
  levels: Kind,
  { clock, logger }: StoreServices,
): readonly Kind[] {
  const status = schemas.subresources?.find(({ name }) => name === 'status')?.rest;
  const manager = new FieldManager({
    codec: CODEC,
    subresource: 'status',
    now: () => clock.now(),
  });

  async function settle(name: string): Promise<void> {
    const apply = async (current: unknown): Promise<FlowSchema> => {
      const schema = current as FlowSchema | undefined;
      if (schema === undefined)
        throw apierrors.notFound({ group: GROUP, resource: 'flowschemas' }, name);
      const level = schema.spec.priorityLevelConfiguration.name;
      const isThere = (await findOne(levels.rest, '', level)) !== undefined;
      const condition = missingCondition(schema, isThere, clock.now());
      if (condition === undefined) return schema;
      const config = {
        apiVersion: `${GROUP}/v1`,
        kind: 'FlowSchema',
        metadata: { name },
        status: { conditions: [condition] },
      };
      return CODEC.decode(await manager.apply(schema, config, MANAGER, true))
        .object as unknown as FlowSchema;
    };
    await status?.update?.(
      internalContext(''),
      name,
      { apply },
      { dryRun: false, fieldManager: MANAGER },
    );
  }

  async function settleAll(): Promise<void> {
    for (const { metadata } of await findEvery(schemas.rest, '')) await settle(metadata.name ?? '');
  }

  // The end of the last update. Updates run one after the other, so that the newest state is
  // written last.
  let last = Promise.resolve();
  function next(work: () => Promise<void>): Promise<void> {
    last = last.then(work).catch((error: unknown) => {
      if (!apierrors.isNotFound(error))
        logger.error('flow schemas: updating the condition Dangling failed', { err: error });
    });
    return last;
  }
  return [
    {
      ...schemas,
      rest: observed(schemas.rest, async (what, name) => {
        if (what !== 'deleted') await next(() => settle(name));
      }),
    },
    {
      ...levels,
      rest: observed(levels.rest, async (what) => {
        if (what !== 'updated') await next(settleAll);
      }),
    },
  ];
}

/** Returns the condition that the schema should have; undefined if it already has it. */
function missingCondition(
  { spec, status }: FlowSchema,
  levelExists: boolean,
  now: number,
): object | undefined {
  const level =
    'This FlowSchema references the PriorityLevelConfiguration object named ' +
    quote(spec.priorityLevelConfiguration.name);
  const desired = levelExists
    ? { status: 'False', reason: 'Found', message: `${level} and it exists` }
    : { status: 'True', reason: 'NotFound', message: `${level} but there is no such object` };
  const {
    status: current,
    reason,
    message,
  } = status.conditions?.find(({ type }) => type === 'Dangling') ?? {};
  if (current === desired.status && reason === desired.reason && message === desired.message)
    return undefined;
  return { type: 'Dangling', lastTransitionTime: formatTime(now), ...desired };
}

/** Returns a Rest that awaits `afterwards` after every write except dry runs. */
function observed(
  rest: Rest,
  afterwards: (what: 'created' | 'updated' | 'deleted', name: string) => Promise<void>,
): Rest {
  const plain = plainRest(rest);
  const { create, update, delete: remove, deleteCollection } = plain;
  const observing: Rest = {
    ...(create !== undefined && {
      create: async (context, parent, object, options) => {
        const created = await create(context, parent, object, options);
        const { metadata } = created.object() as KubeObject;
        if (!options.dryRun) await afterwards('created', metadata.name ?? '');
        return created;
      },
    }),
    ...(update !== undefined && {
      update: async (context, name, change, options) => {
        const outcome = await update(context, name, change, options);
        if (!options.dryRun) await afterwards(outcome.created ? 'created' : 'updated', name);
        return outcome;
      },
    }),
    ...(remove !== undefined && {
      delete: async (context, name, options) => {
        const outcome = await remove(context, name, options);
        if (!options.dryRun) await afterwards('deleted', name);
        return outcome;
      },
    }),
    ...(deleteCollection !== undefined && {
      deleteCollection: async (context, options, list) => {
        const outcome = await deleteCollection(context, options, list);
        if (!options.dryRun) await afterwards('deleted', '');
        return outcome;
      },
    }),
  };
  return { ...plain, ...observing };
}
