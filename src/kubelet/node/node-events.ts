// Events about the node itself.

import type { EventReason, EventSink } from '../events.ts';

export class NodeEvents {
  readonly #sink: EventSink;
  readonly #nodeName: string;

  constructor(sink: EventSink, nodeName: string) {
    this.#sink = sink;
    this.#nodeName = nodeName;
  }

  normal(reason: EventReason, message: string): void {
    this.#event('Normal', reason, message);
  }

  warning(reason: EventReason, message: string): void {
    this.#event('Warning', reason, message);
  }

  /** As upstream, the Node's name is used as the UID, which is unknown before it is registered. */
  #event(type: 'Normal' | 'Warning', reason: EventReason, message: string): void {
    const node = { apiVersion: 'v1', kind: 'Node', name: this.#nodeName, uid: this.#nodeName };
    this.#sink.event(node, type, reason, message);
  }
}
