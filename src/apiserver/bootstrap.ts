// Creates the objects of every new cluster: its namespaces, the system's priority classes, its flow
// schemas and priority levels, and the Service `kubernetes`, by which pods reach the API server.

import { namespaces, services } from '#api/groups/core/v1/index.ts';
import { flowSchemas } from '#api/groups/flowcontrol/v1/index.ts';
import { priorityClasses } from '#api/groups/scheduling/v1/index.ts';
import { SYSTEM_PRIORITY_CLASSES } from '#api/groups/scheduling/v1/system-classes.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { keepFlowControlObjects } from './kinds/flowcontrol/bootstrap.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { StartWrites } from './start-writes.ts';

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const;

export interface BootstrapConfig {
  /** A client of the group system:masters. */
  readonly client: Client;
  readonly catalog: Catalog;
  /** The first address of the service range, in text form. */
  readonly serviceIp: string;
  /** The port at which the API server listens. */
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Runs writes that webhooks may reject. */
  readonly writes: StartWrites;
}

/**
 * How long this server waits, in ms, for another one that has reserved the Service's address to
 * create the Service.
 */
const SERVICE_PATIENCE_MS = 10_000;
const SERVICE_RETRY_MS = 50;

/** Creates the objects. Existing objects stay unchanged, so every start may call this. */
export async function createBootstrapObjects(config: BootstrapConfig): Promise<void> {
  const { writes } = config;
  await writes.attempt('namespaces', async () => {
    await Promise.all(NAMESPACES.map((name) => createNamespace(config.client, name)));
  });
  const snapshot = config.catalog.snapshot();
  const serves = (group: string): boolean => snapshot.group(group)?.served === true;
  const classes = serves(priorityClasses.group) ? SYSTEM_PRIORITY_CLASSES : [];
  const createClass = ({
    name,
    value,
    description,
  }: (typeof SYSTEM_PRIORITY_CLASSES)[number]): Promise<void> => {
    const access = config.client.resource(priorityClasses);
    return ensure(access.get(name), () =>
      access.create({ metadata: { name }, value, description }),
    );
  };
  await writes.attempt('priority classes', async () => {
    await Promise.all(classes.map(createClass));
  });
  await writes.attempt('flow control objects', async () => {
    if (serves(flowSchemas.group)) await keepFlowControlObjects(config.client);
  });
  await writes.attempt('the Service kubernetes', () => beginKubernetesService(config));
}

/**
 * Creates the Service. It cannot be had where the stored objects are of another family of addresses
 * than the server's range. The server starts all the same, as upstream: the Service is kept later.
 */
async function beginKubernetesService(config: BootstrapConfig): Promise<void> {
  try {
    await keepKubernetesService(config);
  } catch (error) {
    if (!apierrors.isInvalid(error)) throw error;
    config.logger.error('API server: initializing the Service kubernetes failed, will retry', {
      err: error,
    });
  }
}

async function createNamespace(client: Client, name: string): Promise<void> {
  const access = client.resource(namespaces);
  await ensure(access.get(name), () => access.create({ metadata: { name } }));
}

/**
 * Creates an object if it does not exist. Later starts write nothing, so that they call no
 * admission webhooks, which may be unreachable then.
 */
async function ensure(existing: Promise<unknown>, create: () => Promise<unknown>): Promise<void> {
  try {
    await existing;
  } catch (error) {
    if (!apierrors.isNotFound(error)) throw error;
    await apierrors.unlessExists(create());
  }
}

/** Creates the Service `kubernetes` unless it exists. May be called at any time. */
export async function keepKubernetesService({
  client,
  serviceIp,
  port,
  clock,
}: Pick<BootstrapConfig, 'client' | 'serviceIp' | 'port' | 'clock'>): Promise<void> {
  const service = {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      type: 'ClusterIP',
      clusterIP: serviceIp,
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    },
  } as const;
  const inDefault = client.resource(services).namespace('default');
  const keep = async (): Promise<void> => {
    try {
      const existing = await inDefault.get('kubernetes');
      const [first] = existing.spec.ports ?? [];
      if (first?.targetPort === port) return;
      const patch = { spec: { ports: service.spec.ports } };
      await inDefault.patch('kubernetes', 'application/merge-patch+json', patch);
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
      await apierrors.unlessExists(inDefault.create(service));
    }
  };
  const until = clock.monotonic() + SERVICE_PATIENCE_MS;
  for (;;) {
    try {
      return await keep();
    } catch (error) {
      // Another server that starts at the same time has reserved the address, and creates the
      // Service next.
      if (!isAddressTaken(error) || clock.monotonic() >= until) throw error;
      await clock.sleep(SERVICE_RETRY_MS);
    }
  }
}

function isAddressTaken(error: unknown): boolean {
  return (
    apierrors.isInvalid(error) && errorMessage(error).includes('provided IP is already allocated')
  );
}
