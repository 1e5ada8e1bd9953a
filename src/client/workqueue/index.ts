// Work queues, which drive controllers.

export * from './metrics.ts';
export * from './work-queue.ts';
export * from './delaying-queue.ts';
export * from './rate-limiter.ts';
export { TokenBucket } from '#machinery/token-bucket.ts';
export * from './rate-limiting-queue.ts';
export * from './run-workers.ts';
