// The model's own chat template, rendered as Hugging Face does. Loaded only when chat is used.

import { Template } from '@huggingface/jinja';
import { LookbackError } from './errors.js';

/**
 * @param {string | null} template   Jinja source
 * @param {{role: string, content: string}[]} messages
 * @param {{bosToken?: string, eosToken?: string, addGenerationPrompt?: boolean}} [options]
 * @returns {string}
 */
export function renderChat(template, messages, { bosToken = '', eosToken = '', addGenerationPrompt = true } = {}) {
  if (!template) throw new LookbackError('bad_template', 'this model carries no chat template');
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new LookbackError('bad_argument', 'chat needs a list of at least one message {role, content}');
  }
  messages.forEach((message, index) => {
    if (typeof message?.role !== 'string' || typeof message?.content !== 'string') {
      throw new LookbackError('bad_argument', `chat message ${index} is not {role, content} of two strings`);
    }
  });
  try {
    // The library brings raise_exception itself.
    return new Template(template).render({
      messages,
      add_generation_prompt: addGenerationPrompt,
      bos_token: bosToken,
      eos_token: eosToken,
    });
  } catch (error) {
    throw new LookbackError(
      'bad_template',
      `the chat template does not render: ${/** @type {Error} */ (error).message}`,
    );
  }
}
