// A list for members that come and go and are never searched for, such as requests in flight. A Set
// would compute a hash for each of them and allocate tables (see transient-map.ts). Here each
// member links to its neighbours.

/** A member of at most one list at a time. Its fields belong to the list. */
export class Link {
  /** The member before this one, or the end of the list; undefined if the link is in no list. */
  previous: Link | undefined = undefined;
  next: Link | undefined = undefined;
}

/** A list in order of arrival. All operations take constant time. */
export class LinkedList<L extends Link> {
  /** The sentinel before the first member and after the last. */
  readonly #end = new Link();
  #size = 0;

  constructor() {
    this.clear();
  }

  get size(): number {
    return this.#size;
  }

  /** The link that was appended first; undefined if the list is empty. */
  get first(): L | undefined {
    const { next } = this.#end;
    return next === this.#end ? undefined : (next as L);
  }

  /** Appends a link, which must not be in a list. */
  add(link: L): void {
    if (link.next !== undefined) throw new Error('linked list: the link is already in a list');
    const end = this.#end;
    const last = end.previous!;
    link.previous = last;
    link.next = end;
    last.next = link;
    end.previous = link;
    this.#size++;
  }

  /** Removes a link, which must be in this list or in none. Returns whether it was in the list. */
  delete(link: L): boolean {
    const { previous, next } = link;
    if (previous === undefined || next === undefined) return false;
    previous.next = next;
    next.previous = previous;
    link.previous = undefined;
    link.next = undefined;
    this.#size--;
    return true;
  }

  /** Removes all members. */
  clear(): void {
    for (const link of this) this.delete(link);
    this.#end.previous = this.#end;
    this.#end.next = this.#end;
  }

  /**
   * Iterates over the members at the beginning of the iteration, except for members that are
   * removed before their turn.
   */
  *[Symbol.iterator](): Generator<L, undefined> {
    const members: L[] = [];
    for (let link = this.#end.next; link !== undefined && link !== this.#end; link = link.next)
      members.push(link as L);
    for (const member of members) if (member.next !== undefined) yield member;
  }
}
