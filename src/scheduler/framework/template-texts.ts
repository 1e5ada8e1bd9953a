// Joins the texts by which plugins tell pods apart to the text of a template. The same texts give
// the same string, whose hash is known, so that a look-up by it does not read hundreds of
// characters for each pod.

import { SEPARATOR } from './plugin-calls.ts';

/** The number of texts that are kept. Beyond it, all are made anew. */
const LIMIT = 4096;

/** The texts of the first plugins. */
export interface TemplateText {
  readonly text: string;
  /** The templates with one more plugin, by its name and its text. */
  readonly next: Map<string, Map<string, TemplateText>>;
}

export class TemplateTexts {
  #start = new Map<string, TemplateText>();
  #size = 0;

  /** Returns the template that begins with this text. */
  begin(text: string): TemplateText {
    let found = this.#start.get(text);
    if (found === undefined) {
      found = this.#make(text + SEPARATOR);
      this.#start.set(text, found);
    }
    return found;
  }

  /** Returns the template with the text of one more plugin. */
  with(before: TemplateText, plugin: string, text: string): TemplateText {
    let byText = before.next.get(plugin);
    if (byText === undefined) {
      byText = new Map();
      before.next.set(plugin, byText);
    }
    let found = byText.get(text);
    if (found === undefined) {
      found = this.#make(before.text + plugin + SEPARATOR + text + SEPARATOR);
      byText.set(text, found);
    }
    return found;
  }

  #make(text: string): TemplateText {
    // Templates in use are not affected: their texts are equal to new ones.
    if (++this.#size > LIMIT) {
      this.#start = new Map();
      this.#size = 1;
    }
    return { text, next: new Map() };
  }
}
