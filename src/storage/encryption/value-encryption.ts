// The providers of one configuration: which of them encrypts and decrypts the values of a resource.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ValueTransformer } from '../transformed-storage.ts';
import type { Cipher } from './cipher.ts';
import type { EncryptionConfiguration, GroupResource, ProviderConfiguration } from './config.ts';
import { KmsCipher } from './kms/cipher.ts';
import type { KmsMetrics } from './kms/metrics.ts';
import { KmsPlugin } from './kms/plugin.ts';
import { localCiphers } from './local-ciphers.ts';
import type { TransformationMetrics } from './transformation-metrics.ts';
import { Transformer } from './transformer.ts';

export interface EncryptionServices {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: KmsMetrics;
  readonly transformations: TransformationMetrics;
  /** Transforms values before they are encrypted. Default: nothing does. */
  readonly form?: ValueTransformer;
}

export class ValueEncryption {
  readonly #services: EncryptionServices;
  readonly #plugins: KmsPlugin[] = [];
  readonly #plain: Transformer;
  /** By resource.group, or by what stands for many resources. */
  readonly #ciphers: ReadonlyMap<string, readonly Cipher[]>;
  /** By resource.group, made when it is first needed. */
  readonly #transformers = new Map<string, Transformer>();

  constructor(configuration: EncryptionConfiguration, services: EncryptionServices) {
    this.#services = services;
    this.#plain = new Transformer(localCiphers({ type: 'identity' }, services.random));
    const ciphers = new Map<string, readonly Cipher[]>();
    for (const { resources, providers } of configuration) {
      const made = providers.flatMap((provider) => this.#ciphersOf(provider));
      for (const each of resources)
        ciphers.set(textOf(each), [...(ciphers.get(textOf(each)) ?? []), ...made]);
    }
    this.#ciphers = ciphers;
  }

  /** Reports whether keys are with plugins. */
  get hasPlugins(): boolean {
    return this.#plugins.length > 0;
  }

  /** Asks each plugin once, and from then on periodically. One that is not there is no error. */
  async start(): Promise<void> {
    await Promise.all(this.#plugins.map((plugin) => plugin.start()));
  }

  /** Rejects with the errors of all plugins that are not healthy. */
  async check(): Promise<void> {
    const results = await Promise.allSettled(this.#plugins.map((plugin) => plugin.check()));
    const problems = results.flatMap((result, index) =>
      result.status === 'rejected' ? [`kms-provider-${index}: ${errorMessage(result.reason)}`] : [],
    );
    if (problems.length === 0) return;
    throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`);
  }

  /** Returns the transformer of a resource; undefined is none, whose values are not encrypted. */
  transformerFor(resource: GroupResource | undefined): Transformer {
    if (resource === undefined) return this.#plain;
    const text = textOf(resource);
    let transformer = this.#transformers.get(text);
    if (transformer === undefined) {
      transformer = this.#transformerOf(resource);
      this.#transformers.set(text, transformer);
    }
    return transformer;
  }

  #transformerOf(resource: GroupResource): Transformer {
    const ciphers =
      this.#ciphers.get(textOf(resource)) ??
      this.#ciphers.get(textOf({ ...resource, resource: '*' })) ??
      this.#ciphers.get('*.*');
    if (ciphers === undefined) return this.#plain;
    const { form, transformations } = this.#services;
    return new Transformer(ciphers, {
      ...(form !== undefined && { form }),
      observer: {
        now: () => transformations.now(),
        record: (transformation) => transformations.record(resource, transformation),
      },
    });
  }

  /** Ends the connections to plugins. */
  close(): void {
    for (const plugin of this.#plugins) plugin.close();
  }

  #ciphersOf(provider: ProviderConfiguration): readonly Cipher[] {
    if (provider.type !== 'kms') return localCiphers(provider, this.#services.random);
    const plugin = new KmsPlugin(provider, this.#services);
    this.#plugins.push(plugin);
    return [new KmsCipher(plugin, this.#services)];
  }
}

const textOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;
