// Whether the secure port gets a thread of its own: on one core it would only be a detour.

import { availableParallelism } from 'node:os';
import { ListenerThread } from '../apiserver/http/thread/index.ts';

export function newListenerThread(): ListenerThread | undefined {
  return availableParallelism() > 1 ? new ListenerThread() : undefined;
}
