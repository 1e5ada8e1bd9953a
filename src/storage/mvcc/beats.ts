// Beats: periodic writes that depend on the time only, such as the renewals of a node's Lease. On a
// lazy virtual clock they are not made one by one. The store catches up on them whenever the clock
// stops, before anything can read. Then it has the same revisions, values and history as after
// single writes. If the history of some beats would have been compacted by then, only the last beat
// of each key is made.
//
//   takeOver   A component has made two beats and leaves the following ones to the store.
//   released   Another client writes the key, or a watcher observes each beat. Watchers get the last
//              beat, and the component makes the following ones.

import { ANYTHING, type Background, type Clock, stir } from '#machinery/clock.ts';
import type { Beat, KeyValue, Revision, StorageBeats } from '../interface.ts';
import { beatTemplate, type BeatTemplate } from './beat-template.ts';
import { DeferredKeyValue } from './deferred-value.ts';
import type { HistoryKeeper } from './history-keeper.ts';
import type { ChangeEvent, MvccStore } from './store.ts';

export interface BeatsConfig {
  readonly clock: Clock;
  readonly store: MvccStore;
  readonly history: HistoryKeeper;
  /** Called with each revision that was added, and its time in milliseconds since the epoch. */
  readonly onRevision: (revision: Revision, at: number) => void;
  /** Called when the history before a revision is dropped. */
  readonly onCompacted: (revision: Revision) => void;
  readonly publish: (event: ChangeEvent) => void;
}

interface Source {
  readonly key: string;
  readonly directory: string;
  readonly periodMs: number;
  readonly render: BeatTemplate;
  readonly onReleased: (nextDue: number) => void;
  nextDue: number;
  /** The last write of the key that was published. */
  readonly published: KeyValue;
}

export class Beats implements StorageBeats, Background {
  readonly #config: BeatsConfig;
  readonly #sources = new Map<string, Source>();
  /** Keys, and prefixes that end in '/', that are watched beat by beat, and by how many watchers. */
  readonly #observed = new Map<string, number>();
  #nextDue = Number.POSITIVE_INFINITY;
  #read = false;

  constructor(config: BeatsConfig) {
    this.#config = config;
  }

  get nextDue(): number {
    if (this.#sources.size === 0) return Number.POSITIVE_INFINITY;
    return Math.min(this.#nextDue, this.#config.history.nextTick);
  }

  takeOver(beat: Beat): (() => void) | undefined {
    const { key, previous, latest, periodMs, nextDue, onReleased } = beat;
    const { store, history, clock } = this.#config;
    const current = store.get(key);
    if (current?.modRevision !== latest.revision || this.#isObserved(key)) return undefined;
    const render = beatTemplate(previous, latest);
    if (render === undefined || !(nextDue > clock.monotonic())) return undefined;
    const directory = key.slice(0, key.lastIndexOf('/') + 1);
    const source: Source = {
      key,
      directory,
      periodMs,
      render,
      onReleased,
      nextDue,
      published: current,
    };
    this.#sources.set(key, source);
    history.followBeats(true);
    this.#plan();
    return () => this.#release(source);
  }

  observe(path: string): () => void {
    this.#observed.set(path, (this.#observed.get(path) ?? 0) + 1);
    for (const source of this.#sources.values())
      if (covers(path, source.key)) this.#release(source);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.#observed.get(path) ?? 1) - 1;
      if (left === 0) this.#observed.delete(path);
      else this.#observed.set(path, left);
    };
  }

  /** Releases the key before another writer writes it. */
  beforeWrite(key: string): void {
    const source = this.#sources.get(key);
    if (source !== undefined) this.#release(source);
  }

  /** Something reads the key, or the keys under a prefix that ends in '/'. */
  noteRead(path: string): void {
    if (this.#read || this.#sources.size === 0) return;
    if (!path.endsWith('/')) this.#read = this.#sources.has(path);
    else {
      for (const { directory } of this.#sources.values()) {
        if (!directory.startsWith(path) && !path.startsWith(directory)) continue;
        this.#read = true;
        return;
      }
    }
  }

  takeRead(): boolean {
    const read = this.#read;
    this.#read = false;
    return read;
  }

  catchUp(now: number): void {
    const { history } = this.#config;
    const due = [...this.#sources.values()].filter(({ nextDue }) => nextDue <= now);
    const cut = history.compactedBy(now);
    if (due.some(({ nextDue }) => nextDue < cut)) this.#skip(due, cut);
    for (const [at, source] of beatsUpTo(due, now)) {
      history.tickUpTo(at);
      this.#write(source, at);
      history.written();
    }
    history.tickUpTo(now);
    this.#plan();
  }

  #write(source: Source, at: number): void {
    const { store, onRevision } = this.#config;
    const { key, createRevision } = store.get(source.key) as KeyValue;
    const modRevision = store.revision + 1;
    const wallClock = this.#wallClock(at);
    const { render } = source;
    store.apply(
      key,
      new DeferredKeyValue({ key, createRevision, modRevision }, render.size, () =>
        render.at(wallClock),
      ),
    );
    onRevision(modRevision, wallClock);
  }

  /** Passes over the beats before `cut`, whose history is compacted. */
  #skip(due: readonly Source[], cut: number): void {
    const { store, history, onRevision, onCompacted } = this.#config;
    const start = store.revision;
    const skipped = due.filter(({ nextDue }) => nextDue < cut);
    const latest = skipped
      .map(({ key, nextDue, periodMs, render }): KeyValue => {
        const at = nextDue + (beatsBefore(cut, nextDue, periodMs) - 1) * periodMs;
        // With the beat itself.
        let modRevision = start + 1;
        for (const other of skipped) modRevision += beatsBefore(at, other.nextDue, other.periodMs);
        const { createRevision } = store.get(key) as KeyValue;
        return { key, value: render.at(this.#wallClock(at)), createRevision, modRevision };
      })
      .sort((a, b) => a.modRevision - b.modRevision);
    let count = 0;
    for (const source of skipped) {
      const beats = beatsBefore(cut, source.nextDue, source.periodMs);
      count += beats;
      source.nextDue += beats * source.periodMs;
    }
    store.passOver(start + count, latest);
    history.passedOver(cut);
    onRevision(store.revision, this.#wallClock(cut));
    onCompacted(store.revision);
  }

  #wallClock(monotonic: number): number {
    const { clock } = this.#config;
    return clock.now() - Math.floor(clock.monotonic()) + Math.floor(monotonic);
  }

  #isObserved(key: string): boolean {
    for (const path of this.#observed.keys()) if (covers(path, key)) return true;
    return false;
  }

  #release(source: Source): void {
    if (this.#sources.get(source.key) !== source) return;
    this.#sources.delete(source.key);
    const { store, history, publish, clock } = this.#config;
    if (this.#sources.size === 0) history.followBeats(false);
    this.#plan();
    const { key, published: previous, nextDue } = source;
    const kv = store.get(key);
    // Writes of other keys have been published since: the event is from now.
    if (kv !== undefined && kv !== previous)
      publish({ type: 'put', revision: store.revision, kv, previous, coalesced: true });
    stir(clock, ANYTHING);
    source.onReleased(nextDue);
  }

  #plan(): void {
    this.#nextDue = Number.POSITIVE_INFINITY;
    for (const { nextDue } of this.#sources.values())
      this.#nextDue = Math.min(this.#nextDue, nextDue);
  }
}

/** Reports whether a path is the key, or a prefix of it that ends in '/'. */
function covers(path: string, key: string): boolean {
  return path.endsWith('/') ? key.startsWith(path) : key === path;
}

/** Returns how many beats are due before a time. */
function beatsBefore(at: number, nextDue: number, periodMs: number): number {
  return nextDue < at ? Math.ceil((at - nextDue) / periodMs) : 0;
}

/** Returns the beats up to `now` in order, and moves the sources on. */
function beatsUpTo(sources: readonly Source[], now: number): (readonly [number, Source])[] {
  const beats: (readonly [number, Source])[] = [];
  for (const source of sources) {
    for (; source.nextDue <= now; source.nextDue += source.periodMs)
      beats.push([source.nextDue, source]);
  }
  return beats.sort((a, b) => a[0] - b[0]);
}
