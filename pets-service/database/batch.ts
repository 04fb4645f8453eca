interface Waiting<Question, Answer> {
  question: Question;
  resolve: (answer: Promise<Answer>) => void;
  reject: (error: unknown) => void;
}

/**
 * Collects what is asked within one turn of the event loop, and asks for all of it together: requests that arrive at
 * the same time can then share a query, whose cost hardly depends on how many they are. One that comes alone waits for
 * nobody. The asking begins after each of the questions, so all are answered as of a moment that they have seen.
 * @param askTogether returns an answer to each question, in their order
 */
export function gather<Question, Answer>(
  askTogether: (questions: readonly Question[]) => readonly Promise<Answer>[],
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = [];

  function ask(): void {
    const asking = waiting;
    waiting = [];
    try {
      const answers = askTogether(asking.map(({ question }) => question));
      for (const [index, { resolve, reject }] of asking.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('fewer answers than questions'));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of asking) reject(error);
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(ask);
      waiting.push({ question, resolve, reject });
    });
}
