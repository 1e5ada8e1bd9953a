// The secure port in a thread of its own.

export { ListenerThread } from './listener-thread.ts';
