// The labels of namespaces, for terms with a namespace selector.

import { namespaces as namespaceType } from '#api/groups/core/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { NamespaceLabels } from '#scheduler/framework/affinity-terms.ts';
import type { Handle } from '#scheduler/framework/handle.ts';

export class Namespaces {
  readonly labelsOf: NamespaceLabels;
  #version = 0;

  constructor({ informers, ended }: Handle) {
    const informer = informers.informerFor(namespaceType);
    this.labelsOf = (namespace) => informer.lister.get('', namespace)?.metadata.labels;
    const changed = (): void => {
      this.#version++;
    };
    const registration = informer.addEventHandler({
      onAdd: changed,
      onUpdate: (before, after) => {
        if (!semanticEqual(before.metadata.labels, after.metadata.labels)) changed();
      },
      onDelete: changed,
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  /** Changes whenever labels of a namespace may have changed. */
  get version(): number {
    return this.#version;
  }
}
