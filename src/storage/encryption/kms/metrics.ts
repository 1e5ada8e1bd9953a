// Metrics of key management plugins, under upstream's names.

import type { Clock } from '#machinery/clock.ts';
import {
  Counter,
  counterText,
  exponentialBuckets,
  Family,
  gaugeText,
  Histogram,
  histogramText,
  type Sample,
  sampleText,
} from '#machinery/metrics/instruments.ts';
import { keyIdHash } from './envelope.ts';

interface Use {
  readonly labels: readonly string[];
  count: number;
  lastMs: number;
}

const PREFIX = 'apiserver_envelope_encryption';
const KEY_LABELS = ['provider_name', 'key_id_hash', 'apiserver_id_hash'];
const USE_LABELS = ['transformation_type', ...KEY_LABELS];
const LATENCY_BUCKETS = exponentialBuckets(0.0001, 2, 20);

/** Plugins choose the names of keys: only the latest are counted. */
class KeyUses {
  static readonly #limit = 100;
  /** The least recently used key first. */
  readonly #uses = new Map<string, Use>();

  /** `key`: what the labels are made of. */
  record(nowMs: number, key: string, labels: () => readonly string[]): void {
    const use = this.#uses.get(key) ?? { labels: labels(), count: 0, lastMs: 0 };
    this.#uses.delete(key);
    this.#uses.set(key, use);
    use.count++;
    use.lastMs = nowMs;
    const [oldest] = this.#uses.keys();
    if (this.#uses.size > KeyUses.#limit && oldest !== undefined) this.#uses.delete(oldest);
  }

  counts(): readonly Sample[] {
    return Array.from(this.#uses.values(), ({ labels, count }): Sample => [labels, count]);
  }

  times(): readonly Sample[] {
    return Array.from(this.#uses.values(), ({ labels, lastMs }): Sample => [labels, lastMs / 1000]);
  }
}

export class KmsMetrics {
  readonly #clock: Clock;
  readonly #serverHash: string;
  readonly #uses = new KeyUses();
  readonly #reported = new KeyUses();
  /** By provider: the number of keys in memory. */
  readonly #cached = new Map<string, number>();
  readonly #invalid = new Family(
    {
      name: `${PREFIX}_invalid_key_id_from_status_total`,
      help: 'Number of times an invalid keyID is returned by the Status RPC call split by error.',
      labels: ['provider_name', 'error'],
    },
    () => new Counter(),
  );
  readonly #latency = new Family(
    {
      name: `${PREFIX}_kms_operations_latency_seconds`,
      help: 'KMS operation duration with gRPC error code status total.',
      labels: ['provider_name', 'method_name', 'grpc_status_code'],
    },
    () => new Histogram(LATENCY_BUCKETS),
  );

  /** `serverHash`: the value of the label apiserver_id_hash. */
  constructor(clock: Clock, serverHash: string) {
    this.#clock = clock;
    this.#serverHash = serverHash;
  }

  /** Records a call. `code`: such as 'OK' or 'Unavailable'. */
  called(provider: string, method: string, code: string, durationMs: number): void {
    const name = `/v2.KeyManagementService/${method}`;
    this.#latency.with(provider, name, code).observe(durationMs / 1000);
  }

  /** Records that a value was transformed with a key. */
  used(transformation: 'from_storage' | 'to_storage', provider: string, keyId: string): void {
    this.#uses.record(this.#clock.now(), `${transformation} ${provider} ${keyId}`, () => [
      transformation,
      provider,
      keyIdHash(keyId),
      this.#serverHash,
    ]);
  }

  /** Records that a plugin's status named a key. */
  reported(provider: string, keyId: string): void {
    this.#reported.record(this.#clock.now(), `${provider} ${keyId}`, () => [
      provider,
      keyIdHash(keyId),
      this.#serverHash,
    ]);
  }

  /** Records that a plugin's status named a key that cannot be one. */
  reportedInvalid(provider: string, error: string): void {
    this.#invalid.with(provider, error).value++;
  }

  cached(provider: string, count: number): void {
    this.#cached.set(provider, count);
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    const family = (name: string, help: string, labels: readonly string[]) => ({
      name: `${PREFIX}_${name}`,
      help,
      labels,
    });
    return [
      gaugeText(
        family(
          'dek_source_cache_size',
          'Number of records in data encryption key (DEK) source cache. On a restart, this value is an ' +
            'approximation of the number of decrypt RPC calls the server will make to the KMS plugin.',
          ['provider_name'],
        ),
        Array.from(this.#cached, ([provider, count]): Sample => [[provider], count]),
      ),
      sampleText(
        family(
          'key_id_hash_total',
          'Number of times a keyID is used split by transformation type, provider, and apiserver identity.',
          USE_LABELS,
        ),
        'counter',
        this.#uses.counts(),
      ),
      gaugeText(
        family(
          'key_id_hash_last_timestamp_seconds',
          'The last time in seconds when a keyID was used.',
          USE_LABELS,
        ),
        this.#uses.times(),
      ),
      gaugeText(
        family(
          'key_id_hash_status_last_timestamp_seconds',
          'The last time in seconds when a keyID was returned by the Status RPC call.',
          KEY_LABELS,
        ),
        this.#reported.times(),
      ),
      counterText(this.#invalid),
      histogramText(this.#latency),
    ].join('');
  }
}
