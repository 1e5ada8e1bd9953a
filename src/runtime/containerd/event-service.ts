// containerd's own event service, as far as it is needed: what happens to containers and their
// first processes. It is there in every version of containerd, on the socket that CRI uses. Field
// numbers as in containerd's API.

import { fromJSON } from '@grpc/proto-loader';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
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
   * The fields of /tasks/exit. `id` is that of the container for its first process, another one for
   * an exec.
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
 * Something that happened to a container, or to a sandbox (which is one to containerd). CRI may not
 * know of it yet.
 */
export interface NativeEvent {
  readonly containerId: string;
  readonly type: ContainerEventType;
}

/** Throws a CriError, Unimplemented if the runtime is no containerd. */
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
