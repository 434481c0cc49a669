//! `section!`: a table of the file and what it becomes, from one declaration of each key.

/// Declares a section. A key reads
///
/// ```text
/// /// what it means
/// priority: u8 = "priority", int(0, 15), Absent::Default(0);
/// ```
///
/// and becomes a row of the documentation and of the JSON Schema, a field of the settled struct
/// with its meaning as documentation, and a field of the draft, with the code that reads it, the
/// code that settles it and the code that writes it. A field `Option<T>` is an optional key (a
/// [`Found`](crate::fields::Found) in the draft); any other is required or has a default.
/// `[serde(default)]` behind the type is an attribute of the field.
///
/// A key written as `const PORT: u16 = …` has no field: code reads it, together with others, into
/// a field below `made`. Fields below `given` come from elsewhere than keys. `same KEY;` is a key
/// that another section declares.
macro_rules! section {
    // One key after the other. The braces gather fields, drafts, how each is read, constants and
    // the list of all keys.
    (@ $head:tt { $($fields:tt)* } { $($drafts:tt)* } { $($reads:tt)* } { $($consts:tt)* }
        { $($list:tt)* }
        $(#[doc = $doc:literal])+
        const $NAME:ident: $T:ty = $name:literal, $limits:expr, $absent:expr;
        $($rest:tt)*
    ) => {
        $crate::keys::section! { @ $head { $($fields)* } { $($drafts)* } { $($reads)* }
            {
                $($consts)*
                $(#[doc = $doc])+
                pub(crate) const $NAME: $crate::keys::Key<$T> =
                    $crate::keys::Key::new($name, $limits, $absent, concat!($($doc),+));
            }
            { $($list)* $NAME, }
            $($rest)*
        }
    };
    (@ $head:tt { $($fields:tt)* } { $($drafts:tt)* } { $($reads:tt)* } $consts:tt
        { $($list:tt)* }
        $(#[doc = $doc:literal])+
        $field:ident: Option<$T:ty> $([$attr:meta])? = $name:literal, $limits:expr, $absent:expr;
        $($rest:tt)*
    ) => {
        $crate::keys::section! { @ $head
            { $($fields)* $(#[doc = $doc])+ $(#[$attr])? pub $field: Option<$T>, }
            { $($drafts)* $field: $crate::fields::Found<$T>, }
            {
                $($reads)*
                $field take if_there $crate::keys::Key::<$T>::new($name, $limits, $absent, ""),
            }
            $consts
            {
                $($list)*
                $crate::keys::Key::<$T>::new($name, $limits, $absent, concat!($($doc),+)),
            }
            $($rest)*
        }
    };
    (@ $head:tt { $($fields:tt)* } { $($drafts:tt)* } { $($reads:tt)* } $consts:tt
        { $($list:tt)* }
        $(#[doc = $doc:literal])+
        $field:ident: $T:ty $([$attr:meta])? = $name:literal, $limits:expr, $absent:expr;
        $($rest:tt)*
    ) => {
        $crate::keys::section! { @ $head
            { $($fields)* $(#[doc = $doc])+ $(#[$attr])? pub $field: $T, }
            { $($drafts)* $field: Option<$T>, }
            {
                $($reads)*
                $field settled unless_default
                    $crate::keys::Key::<$T>::new($name, $limits, $absent, ""),
            }
            $consts
            {
                $($list)*
                $crate::keys::Key::<$T>::new($name, $limits, $absent, concat!($($doc),+)),
            }
            $($rest)*
        }
    };
    (@ $head:tt $fields:tt $drafts:tt $reads:tt $consts:tt { $($list:tt)* }
        same $NAME:path;
        $($rest:tt)*
    ) => {
        $crate::keys::section! { @ $head $fields $drafts $reads $consts { $($list)* $NAME, }
            $($rest)*
        }
    };
    // All keys are gathered.
    (@ [
            $(#[$meta:meta])*
            struct $Settled:ident, draft $Draft:ident, section $SECTION:ident of $header:literal;
            given { $($(#[$given_meta:meta])* $given:ident: $Given:ty,)* }
            made { $($(#[$made_meta:meta])* $made:ident: $Made:ty,)* }
        ]
        { $($fields:tt)* } { $($draft:ident: $Draft_type:ty,)* }
        { $($field:ident $read:ident $write:ident $key:expr,)* }
        { $($consts:tt)* } { $($list:expr,)* }
    ) => {
        $(#[$meta])*
        pub struct $Settled {
            $($(#[$given_meta])* pub $given: $Given,)*
            $($(#[$made_meta])* pub $made: $Made,)*
            $($fields)*
        }

        /// The same while it is read: what could not be read is `None`.
        pub(crate) struct $Draft {
            $(pub $given: $Given,)*
            $(pub $made: Option<$Made>,)*
            $(pub $draft: $Draft_type,)*
        }

        impl $Draft {
            /// The keys that are a field each; code adds the others.
            pub fn read(fields: &$crate::fields::Fields<'_>) -> Self {
                Self {
                    $($given: Default::default(),)*
                    $($made: None,)*
                    $($field: fields.$read(&$key),)*
                }
            }

            /// All of it, if everything could be read.
            pub fn finish(self) -> Option<$Settled> {
                use $crate::fields::Settle;
                Some($Settled {
                    $($given: self.$given,)*
                    $($made: self.$made?,)*
                    $($field: self.$field.finish()?,)*
                })
            }
        }

        impl $crate::keys::Written for $Settled {
            fn written(&self) -> Vec<(&'static str, String)> {
                let keys: Vec<Option<(&'static str, String)>> =
                    vec![$($key.$write(&self.$field)),*];
                keys.into_iter().flatten().collect()
            }
        }

        $($consts)*

        /// The keys.
        pub static $SECTION: $crate::keys::Section =
            $crate::keys::Section { header: $header, own: &[$(&$list),*], parts: &[] };
    };
    (@ [section $SECTION:ident of $header:literal;] {} {} {}
        { $($consts:tt)* } { $($list:expr,)* }
    ) => {
        $($consts)*

        /// The keys.
        pub static $SECTION: $crate::keys::Section =
            $crate::keys::Section { header: $header, own: &[$(&$list),*], parts: &[] };
    };
    (
        section $SECTION:ident of $header:literal;
        keys { $($keys:tt)* }
    ) => {
        $crate::keys::section! { @ [section $SECTION of $header;] {} {} {} {} {} $($keys)* }
    };
    (
        $(#[$meta:meta])*
        struct $Settled:ident, draft $Draft:ident, section $SECTION:ident of $header:literal;
        $(given { $($given:tt)* })?
        $(made { $($made:tt)* })?
        keys { $($keys:tt)* }
    ) => {
        $crate::keys::section! { @
            [
                $(#[$meta])*
                struct $Settled, draft $Draft, section $SECTION of $header;
                given { $($($given)*)? }
                made { $($($made)*)? }
            ]
            {} {} {} {} {}
            $($keys)*
        }
    };
}

pub(crate) use section;
