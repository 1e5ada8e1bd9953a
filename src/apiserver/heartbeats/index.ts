// Heartbeats of many nodes at once.

export { type HeartbeatBatch, NodeHeartbeats } from './node-heartbeats.ts';
