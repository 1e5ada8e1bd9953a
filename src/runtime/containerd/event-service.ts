// containerd's event service, for events of containers and their first processes. Every version of
// containerd has it, on the socket of CRI. Field numbers are those of containerd's API.

import { fromJSON, type MessageTypeDefinition } from '@grpc/proto-loader';
import type { ContainerEventType } from '#cri/index.ts';
import type { CriConnection, CriMethod } from './connection.ts';

/** The containerd namespace in which CRI keeps its containers. */
export const CRI_NAMESPACE = 'k8s.io';

const string = (id: number): { id: number; type: string } => ({ id, type: 'string' });

const messages = {
  SubscribeRequest: { fields: { filters: { ...string(1), rule: 'repeated' } } },
  Envelope: { fields: { topic: string(3), event: { id: 4, type: 'Any' } } },
  Any: { fields: { value: { id: 2, type: 'bytes' } } },
  /** The fields of /containers/create, /containers/delete and /tasks/start. */
  ContainerId: { fields: { containerId: string(1) } },
  /**
   * The fields of /tasks/exit. `id` is the container's ID for its first process, and another one
   * for an exec.
   */
  TaskExit: { fields: { containerId: string(1), id: string(2) } },
};

const definition = fromJSON(
  {
    nested: {
      containerd: {
        nested: {
          services: {
            nested: {
              events: {
                nested: {
                  v1: {
                    options: { syntax: 'proto3' },
                    nested: {
                      ...messages,
                      Events: {
                        methods: {
                          Subscribe: {
                            requestType: 'SubscribeRequest',
                            responseType: 'Envelope',
                            responseStream: true,
                          },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  } as object,
  { defaults: true },
);

const prefix = 'containerd.services.events.v1.';
const subscribe = (definition[`${prefix}Events`] as unknown as { Subscribe: CriMethod }).Subscribe;

function decode(
  message: 'ContainerId' | 'TaskExit',
  bytes: Buffer,
): { containerId: string; id?: string } {
  const type = definition[prefix + message] as unknown as MessageTypeDefinition<
    object,
    { containerId: string; id?: string }
  >;
  return type.deserialize(bytes);
}

const topics: Readonly<Record<string, ContainerEventType>> = {
  '/containers/create': 'CONTAINER_CREATED_EVENT',
  '/tasks/start': 'CONTAINER_STARTED_EVENT',
  '/tasks/exit': 'CONTAINER_STOPPED_EVENT',
  '/containers/delete': 'CONTAINER_DELETED_EVENT',
};

/**
 * An event of a container, or of a sandbox (which is a container for containerd). The change may
 * not be visible in CRI yet.
 */
export interface NativeEvent {
  readonly containerId: string;
  readonly type: ContainerEventType;
}

/** Yields events. Throws a CriError: Unimplemented if the runtime is not containerd. */
export async function* nativeEvents(
  connection: Pick<CriConnection, 'streamOf'>,
  signal: AbortSignal,
): AsyncGenerator<NativeEvent, void> {
  const filters = Object.keys(topics).map(
    (topic) => `namespace==${CRI_NAMESPACE},topic=="${topic}"`,
  );
  for await (const envelope of connection.streamOf(subscribe, { filters }, signal)) {
    const { topic, event } = envelope as { topic: string; event: { value: Buffer } | null };
    const type = topics[topic];
    if (type === undefined || event === null) continue;
    const { containerId, id } = decode(
      type === 'CONTAINER_STOPPED_EVENT' ? 'TaskExit' : 'ContainerId',
      event.value,
    );
    if (id === undefined || id === containerId) yield { containerId, type };
  }
}
