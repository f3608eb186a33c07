// What a row made of a question: plan, queries, the passages of the context, the answer, the judges' labels.
import type { Detail, Items, Question } from "./types";
import { Work } from "./fact";

interface Props {
  readonly detail: Detail;
  readonly items: Items;
  readonly gold: string;
  readonly question: Question | undefined;
}

export function QuestionTrail({ detail, items, gold, question }: Props) {
  const [key, text] = detail.a ?? [null, null];
  const options = detail.o ?? question?.options ?? {};
  return (
    <>
      <p>
        {key === null ? <span class="soft">No answer was asked for.</span> : key === "" ? <span class="bad">No valid answer came.</span> : (
          <span class={key === gold ? "good" : "bad"}>Answer <strong>{key}</strong> {text ?? options[key]}{key === gold ? ", right" : ", wrong"}</span>
        )}{" "}
        <Work detail={detail} />
      </p>
      {detail.u?.map(([name, label, selected, error], i) => (
        <p key={i}>
          Judge {name}: {label ? <strong>{label}</strong> : <span class="bad">no label {error ? String(error) : ""}</span>}
          {selected ? <span class="soft"> (context alone supports {selected})</span> : null}
        </p>
      ))}
      {detail.w ? <p class="small soft">Options whose words a passage holds: {Object.entries(detail.w).filter(([, held]) => held).map(([k]) => k).join(", ") || "none"}</p> : null}
      {detail.l ? <Plan plan={detail.l} /> : null}
      {detail.q?.length ? (
        <details open>
          <summary>Queries ({detail.q.length})</summary>
          <dl class="pairs small">{detail.q.map(([form, query], i) => <><dt key={`t${i}`}>{form}</dt><dd key={`d${i}`}>{query}</dd></>)}</dl>
        </details>
      ) : null}
      {detail.b ? (
        <details open>
          <summary>What speaks for and against the options ({detail.b.length})</summary>
          <ul class="small">
            {detail.b.map(([option, stance, passage, sentence, by], i) => (
              <li key={i}>
                <strong>{option}</strong> <span class={stance === "for" ? "good" : stance === "against" ? "bad" : "soft"}>{stance}</span> [{passage}] {sentence} <span class="soft">({by})</span>
              </li>
            ))}
          </ul>
        </details>
      ) : null}
      <details open>
        <summary>Context ({detail.x?.length ?? 0} passages)</summary>
        <ol class="small">
          {detail.x?.map(([of, sources, cited]) => (
            <li key={of} class={cited ? "good-box" : undefined}>
              <details>
                <summary>
                  <span class="mono">{items.ids[of]}</span> {items.labels[of]}{" "}
                  {cited ? <strong>cited </strong> : null}
                  <span class="soft">{sources.map(([query, rank]) => `${query} #${rank}`).join(", ")}</span>
                </summary>
                <p class="passage">{items.texts[of] || "The passage is not in the data folder."}</p>
              </details>
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}

function Plan({ plan }: { readonly plan: unknown }) {
  if (typeof plan !== "object" || plan === null) return <p class="small">{String(plan)}</p>;
  return (
    <details open>
      <summary>Plan</summary>
      <dl class="pairs small">
        {Object.entries(plan).map(([name, value]) => <><dt key={`t${name}`}>{name.replaceAll("_", " ")}</dt><dd key={`d${name}`}>{told(value)}</dd></>)}
      </dl>
    </details>
  );
}

function told(value: unknown): string {
  if (Array.isArray(value)) return value.map(told).join("; ");
  if (typeof value === "object" && value !== null) return Object.entries(value).map(([k, v]) => `${k}: ${told(v)}`).join("; ");
  return value === null || value === undefined ? "" : String(value);
}
